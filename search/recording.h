#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/outcome.h"
#include "core/problem.h"
#include "search/space.h"
#include "search/strategy.h"

namespace tunebook {

struct ForeignRecording;

// A recorded space: what became of each configuration of a kernel on one problem and device, measured earlier, here or by others.
// The replay device answers from it.
//
// NAME.json declares it: "kernel" (default: "name", then the stem), "gpu", "problem_size" (null or missing: the problem is n=1; an
// integer or a list of integers: d0, d1, ...; an object: names with integers or texts), "parameters" {NAME: [VALUES]},
// "constraints" (a list of expressions, or null). Other keys are ignored.
// NAME.csv or NAME.csv.gz has a header line and a line per configuration: the parameters in any order, `time_ms` (empty where there
// is no time), `status`, and optionally `cost_ms` (what trying it cost, compiling and verifying included) and static resources, integers
// or empty, under the names of Resources (`registers`, `spill_load_bytes`, ...). Other columns are ignored.
class Recording {
 public:
  // `path` is NAME.json, NAME.csv, NAME.csv.gz or their common stem; both files are needed. Or it is a Kernel Tuner cache, T4 or KTT
  // output (.json or .json.gz, no CSV file beside it), whose rows then are the space. Throws InputError with the place
  // (FILE: /json/path, FILE:LINE) for what is missing or malformed. Of repeated configurations the first counts.
  static Recording load(const std::filesystem::path& path);

  struct Entry {
    Outcome outcome = Outcome::ok;
    std::optional<double> time_us;  // when has_time(outcome)
    double cost_s = 0;              // 0 where it was not recorded
    Resources resources;            // as far as they were recorded
    // What compiling it would have told.
    Foresight foresight() const;
  };

  const std::string& name() const { return name_; }  // the files' stem
  const std::string& kernel() const { return kernel_; }
  const Problem& problem() const { return problem_; }
  const Device& device() const { return device_; }  // kind "replay", the GPU's name (the recording's where it has none)
  const std::string& content_hash() const { return hash_; }  // of the declaration and the rows

  // Names that --where may use: the parameters, then the problem's.
  const Names& names() const { return names_; }

  // The search space, narrowed by --where texts: by the constraints if they give exactly the recorded rows, else the recorded rows
  // themselves. Throws InputError for a text that does not compile or fails to evaluate.
  SearchSpace space(const std::vector<std::string>& where = {}) const;
  // Why the rows stand for the constraints; empty if the constraints give exactly the rows.
  const std::string& rows_reason() const { return rows_reason_; }

  // Recorded configurations, repeated ones once.
  std::uint64_t size() const { return rows_->size(); }
  bool has_resources() const { return !resources_.empty(); }
  // All recorded configurations; entry(i) belongs to its row i.
  const SearchSpace& rows() const { return *rows_; }
  Entry entry(std::uint64_t index) const;
  // Empty if the configuration was not recorded.
  std::optional<Entry> lookup(const Configuration& configuration) const;

 private:
  Recording() = default;

  // Returns the texts of the constraints, if there are any.
  std::optional<std::vector<std::string>> read_declaration(const std::filesystem::path& path, const std::string& stem);
  void read_rows(const std::filesystem::path& path);
  void adopt_foreign(const ForeignRecording& foreign, const std::filesystem::path& path);
  void set_rows(const std::vector<std::uint16_t>& rows, const std::vector<Entry>& entries);
  // Keeps the constraints if they give exactly the rows, else says in rows_reason_ why not.
  void adopt_constraints(const std::optional<std::vector<std::string>>& texts);

  std::string name_;
  std::string kernel_;
  Problem problem_;
  Device device_;
  std::string hash_;
  Names names_;
  SpaceDefinition definition_;  // with the constraints if they give the rows
  std::string rows_reason_;
  std::optional<SearchSpace> rows_;
  // Per row of rows_: 13 bytes.
  std::vector<double> times_us_;  // NaN where there is none
  std::vector<float> costs_s_;
  std::vector<std::uint8_t> outcomes_;
  std::vector<Resources> resources_;  // empty if none were recorded
};

}  // namespace tunebook
