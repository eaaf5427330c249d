#include "search/foreign_recording.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "core/error.h"
#include "core/json_text.h"

namespace tunebook {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxBytes = std::size_t{1} << 31;

class Reader {
 public:
  Reader(const std::string& file, const Json& json) : file_(file), json_(json) {}

  ForeignRecording kernel_tuner() const {
    ForeignRecording result;
    result.format = "Kernel Tuner cache";
    result.kernel = text(json_, "kernel_name");
    result.gpu = text(json_, "device_name");
    result.problem_size = json_.value("problem_size", Json());
    const Json& names = list(json_, "tune_params_keys", "");
    for (const Json& name : names) {
      if (!name.is_string()) fail("/tune_params_keys", "expected a list of names");
      result.parameters.push_back(name.get<std::string>());
    }
    const auto declared = json_.find("tune_params");
    for (const std::string& name : result.parameters) {
      std::vector<Value> values;
      if (declared != json_.end() && declared->is_object() && declared->contains(name)) {
        for (const Json& item : list(*declared, name.c_str(), "/tune_params")) values.push_back(value(item, "/tune_params/" + name));
      }
      result.declared.push_back(std::move(values));
    }
    for (const auto& [key, entry] : json_.at("cache").items()) {
      const std::string where = "/cache/" + key;
      if (!entry.is_object()) fail(where, "expected an object");
      ForeignRecording::Row row;
      for (const std::string& name : result.parameters) {
        if (!entry.contains(name)) fail(where, fmt::format("the parameter {} is missing", name));
        row.values.push_back(value(entry[name], where + "/" + name));
      }
      const auto error = entry.find("__error__");
      const auto time = entry.find("time");
      if (error != entry.end() && error->is_string()) {
        row.outcome = outcome(error->get<std::string>(), where);
      } else if (time != entry.end() && time->is_string()) {
        row.outcome = outcome(time->get<std::string>(), where);
      } else if (time != entry.end() && time->is_number()) {
        set_time(row, time->get<double>() * 1e3, where);
      } else {
        fail(where, "there is neither a time nor an error");
      }
      for (const char* part : {"compile_time", "verification_time", "benchmark_time"}) row.cost_s += number(entry, part) * 1e-3;
      result.rows.push_back(std::move(row));
    }
    return result;
  }

  ForeignRecording t4() const {
    ForeignRecording result;
    result.format = "T4";
    double unit_us = 1e3;
    if (const auto metadata = json_.find("metadata"); metadata != json_.end() && metadata->is_object()) {
      unit_us = time_unit(text(*metadata, "timeunit"), unit_us);
      result.gpu = text(*metadata, "device");
      result.kernel = text(*metadata, "kernel");
    }
    std::size_t n = 0;
    for (const Json& entry : json_.at("results")) {
      const std::string where = fmt::format("/results/{}", n++);
      const auto configuration = entry.find("configuration");
      if (configuration == entry.end() || !configuration->is_object()) fail(where, "the configuration is missing");
      if (result.parameters.empty()) {
        for (const auto& [name, ignored] : configuration->items()) result.parameters.push_back(name);
      }
      ForeignRecording::Row row;
      for (const std::string& name : result.parameters) {
        if (!configuration->contains(name)) fail(where, fmt::format("the parameter {} is missing", name));
        row.values.push_back(value((*configuration)[name], where + "/configuration/" + name));
      }
      const std::string invalidity = text(entry, "invalidity");
      row.outcome = invalidity.empty() ? Outcome::ok : outcome(invalidity, where);
      const auto times = entry.find("times");
      const bool timed = times != entry.end() && times->is_object();
      if (has_time(row.outcome)) set_time(row, t4_time(entry, timed ? *times : Json(), where) * unit_us, where);
      if (timed) {
        for (const char* part : {"compilation", "compilation_time", "benchmark", "validation"}) {
          row.cost_s += number(*times, part) * unit_us * 1e-6;
        }
      }
      result.rows.push_back(std::move(row));
    }
    result.declared.resize(result.parameters.size());
    return result;
  }

  ForeignRecording ktt() const {
    ForeignRecording result;
    result.format = "KTT";
    double unit_us = 1e3;
    if (const auto metadata = json_.find("Metadata"); metadata != json_.end() && metadata->is_object()) {
      unit_us = time_unit(text(*metadata, "TimeUnit"), unit_us);
      result.gpu = text(*metadata, "Device");
    }
    std::size_t n = 0;
    for (const Json& entry : json_.at("Results")) {
      const std::string where = fmt::format("/Results/{}", n++);
      if (!entry.is_object()) fail(where, "expected an object");
      const Json& items = list(entry, "Configuration", where);
      if (result.parameters.empty()) {
        for (const Json& item : items) result.parameters.push_back(text(item, "Name"));
      }
      if (result.kernel.empty()) result.kernel = text(entry, "KernelName");
      ForeignRecording::Row row;
      for (const std::string& name : result.parameters) {
        const auto found = std::find_if(items.begin(), items.end(), [&](const Json& item) { return text(item, "Name") == name; });
        if (found == items.end() || !found->contains("Value")) fail(where, fmt::format("the parameter {} is missing", name));
        row.values.push_back(value((*found)["Value"], where + "/Configuration/" + name));
      }
      const std::string status = text(entry, "Status");
      row.outcome = status.empty() ? Outcome::ok : outcome(status, where);
      if (has_time(row.outcome)) set_time(row, number(entry, "TotalDuration") * unit_us, where);
      row.cost_s = (number(entry, "TotalDuration") + number(entry, "TotalOverhead")) * unit_us * 1e-6;
      result.rows.push_back(std::move(row));
    }
    result.declared.resize(result.parameters.size());
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& where, std::string_view message) const {
    throw InputError(fmt::format("{}: {}: {}", file_, where.empty() ? "/" : where, message));
  }

  static std::string text(const Json& json, const char* key) {
    if (!json.is_object()) return "";
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
  }

  static double number(const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number() ? found->get<double>() : 0;
  }

  const Json& list(const Json& json, const char* key, const std::string& where) const {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_array()) fail(where + "/" + key, "expected a list");
    return *found;
  }

  Value value(const Json& json, const std::string& where) const {
    if (json.is_number_float()) {
      // Python writes whole numbers as 4.0 where one value of the parameter is no whole one.
      return json.dump();
    }
    if (json.is_null() || json.is_structured()) fail(where, "expected a number, a text or a bool");
    return value_from_json(json, fmt::format("{}: {}", file_, where));
  }

  void set_time(ForeignRecording::Row& row, double time_us, const std::string& where) const {
    if (!std::isfinite(time_us) || time_us <= 0) fail(where, fmt::format("a time of {}: expected a positive one", time_us));
    row.time_us = time_us;
  }

  double t4_time(const Json& entry, const Json& times, const std::string& where) const {
    if (const auto measurements = entry.find("measurements"); measurements != entry.end() && measurements->is_array()) {
      for (const Json& measurement : *measurements) {
        if (text(measurement, "name") == "time" && measurement.contains("value") && measurement["value"].is_number()) {
          return measurement["value"].get<double>();
        }
      }
    }
    // Else the mean of the runs.
    const auto runtimes = times.is_object() ? times.find("runtimes") : times.end();
    double sum = 0;
    std::size_t count = 0;
    if (times.is_object() && runtimes != times.end() && runtimes->is_array()) {
      for (const Json& time : *runtimes) {
        if (!time.is_number()) fail(where + "/times/runtimes", "expected numbers");
        sum += time.get<double>();
        ++count;
      }
    }
    if (count == 0) fail(where, "neither a measurement called \"time\" nor runtimes");
    return sum / static_cast<double>(count);
  }

  // In microseconds. Kernel Tuner writes "miliseconds".
  double time_unit(std::string name, double otherwise) const {
    std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (name.empty()) return otherwise;
    static constexpr std::array<std::pair<std::string_view, double>, 9> kUnits = {{
        {"nanoseconds", 1e-3}, {"ns", 1e-3}, {"microseconds", 1}, {"us", 1}, {"milliseconds", 1e3}, {"miliseconds", 1e3},
        {"ms", 1e3}, {"seconds", 1e6}, {"s", 1e6}}};
    for (const auto& [unit, microseconds] : kUnits) {
      if (name == unit) return microseconds;
    }
    fail("", fmt::format("unknown time unit \"{}\"; known are nanoseconds, microseconds, milliseconds and seconds", name));
  }

  Outcome outcome(const std::string& word, const std::string& where) const {
    static constexpr std::array<std::pair<std::string_view, Outcome>, 18> kWords = {{
        {"correct", Outcome::ok},
        {"Ok", Outcome::ok},
        {"InvalidConfig", Outcome::invalid},
        {"constraints", Outcome::invalid},
        {"CompilationFailedConfig", Outcome::compile_error},
        {"compile", Outcome::compile_error},
        {"CompilationFailed", Outcome::compile_error},
        {"RuntimeFailedConfig", Outcome::launch_error},
        {"runtime", Outcome::launch_error},
        {"ComputationFailed", Outcome::launch_error},
        {"DeviceLimitsExceeded", Outcome::no_resources},
        {"timeout", Outcome::run_timeout},
        {"correctness", Outcome::wrong_result},
        {"ValidationFailed", Outcome::wrong_result},
        {"VerificationFailedConfig", Outcome::wrong_result},
        {"incorrect", Outcome::wrong_result},
        {"UnknownError", Outcome::launch_error},
        {"TimeoutFailedConfig", Outcome::run_timeout},
    }};
    for (const auto& [known, result] : kWords) {
      if (word == known) return result;
    }
    if (const std::optional<Outcome> own = parse_outcome(word)) return *own;
    fail(where, fmt::format("unknown status \"{}\"", word));
  }

  const std::string& file_;
  const Json& json_;
};

// A cache that Kernel Tuner is still writing ends after an entry, perhaps with a comma.
std::string closed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ' || text.back() == ',')) text.pop_back();
  return text + "}}";
}

}  // namespace

std::string read_packed_text(const std::filesystem::path& path) {
  const std::string file = path.string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw InputError(fmt::format("{}: no such file", file));
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> stream(gzopen(file.c_str(), "rb"), gzclose);
  if (!stream) throw InputError(fmt::format("{}: cannot be opened", file));
  std::string text;
  std::array<char, 1 << 16> buffer;
  for (int count = 0; (count = gzread(stream.get(), buffer.data(), buffer.size())) != 0;) {
    if (count < 0) throw InputError(fmt::format("{}: cannot be read, or is a damaged gzip file", file));
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kMaxBytes) throw InputError(fmt::format("{}: more than 2 GiB once unpacked", file));
  }
  int status = Z_OK;
  gzerror(stream.get(), &status);
  if (status != Z_OK && status != Z_STREAM_END) throw InputError(fmt::format("{}: a damaged or truncated gzip file", file));
  return text;
}

std::optional<ForeignRecording> read_foreign_recording(const std::filesystem::path& path) {
  const std::string file = path.string();
  const std::string text = read_packed_text(path);
  Json json;
  try {
    json = parse_json_text(text, file);
  } catch (const InputError&) {
    if (text.find("\"tune_params_keys\"") == std::string::npos) throw;
    json = parse_json_text(closed(text), file);
  }
  if (!json.is_object()) return std::nullopt;
  const Reader reader(file, json);
  std::optional<ForeignRecording> result;
  const auto has = [&](const char* key, bool object) {
    const auto found = json.find(key);
    return found != json.end() && (object ? found->is_object() : found->is_array());
  };
  if (has("cache", true) && json.contains("tune_params_keys")) result = reader.kernel_tuner();
  else if (has("Results", false)) result = reader.ktt();
  else if (has("results", false)) result = reader.t4();
  if (result && result->rows.empty()) throw InputError(fmt::format("{}: no configurations in this {} file", file, result->format));
  return result;
}

}  // namespace tunebook
