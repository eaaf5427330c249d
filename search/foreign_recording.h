#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/outcome.h"
#include "core/value.h"

namespace tunebook {

// What other tuners' result files say, in one form: Kernel Tuner's cache (also one still being written), T4 1.0.0 (as it is
// specified and as Kernel Tuner writes it) and KTT's JSON output. Each may be gzip-compressed.
struct ForeignRecording {
  struct Row {
    std::vector<Value> values;  // of `parameters`
    Outcome outcome = Outcome::ok;
    std::optional<double> time_us;  // when has_time(outcome)
    double cost_s = 0;
  };
  std::string format;  // "Kernel Tuner cache", "T4", "KTT"
  std::string kernel;  // empty where the file does not say
  std::string gpu;
  nlohmann::ordered_json problem_size;  // null where the file does not say
  std::vector<std::string> parameters;
  std::vector<std::vector<Value>> declared;  // values of each parameter in declared order; empty where none are declared
  std::vector<Row> rows;
};

// Empty if the file is JSON of another kind. Throws InputError "FILE: ..." if it cannot be read, is no JSON, or is malformed.
std::optional<ForeignRecording> read_foreign_recording(const std::filesystem::path& path);

// The text of a file, unpacked if it is gzip-compressed. Throws InputError.
std::string read_packed_text(const std::filesystem::path& path);

}  // namespace tunebook
