#include "search/recording.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/hash.h"
#include "core/json_text.h"
#include "search/csv_reader.h"
#include "search/foreign_recording.h"
#include "search/space_builder.h"
#include "search/space_file.h"

namespace tunebook {
namespace {

namespace fs = std::filesystem;

struct Files {
  fs::path json;
  fs::path csv;
  std::string stem;
};

std::optional<std::string> without_ending(const std::string& name, std::string_view ending) {
  if (name.size() <= ending.size() || !name.ends_with(ending)) return std::nullopt;
  return name.substr(0, name.size() - ending.size());
}

Files find_files(const fs::path& path) {
  std::string stem = path.filename().string();
  for (const std::string_view ending : {".json", ".csv.gz", ".csv"}) {
    if (const std::optional<std::string> shorter = without_ending(stem, ending)) {
      stem = *shorter;
      break;
    }
  }
  Files files{path.parent_path() / (stem + ".json"), path.parent_path() / (stem + ".csv"), stem};
  std::error_code error;
  if (!fs::is_regular_file(files.json, error)) {
    throw InputError(fmt::format("{}: no recording there: {} is missing", path.string(), files.json.string()));
  }
  if (fs::is_regular_file(files.csv, error)) return files;
  const fs::path compressed = path.parent_path() / (stem + ".csv.gz");
  if (!fs::is_regular_file(compressed, error)) {
    throw InputError(fmt::format("{}: the recording is incomplete: neither {} nor {} exists", path.string(),
                                 files.csv.string(), compressed.string()));
  }
  files.csv = compressed;
  return files;
}

std::string text_under(const nlohmann::ordered_json& json, const char* key, const std::string& file, std::string otherwise) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return otherwise;
  if (!found->is_string()) throw InputError(fmt::format("{}: /{}: expected text", file, key));
  std::string text = found->get<std::string>();
  return text.empty() ? otherwise : text;
}

Problem parse_problem(const nlohmann::ordered_json& json, const std::string& file) {
  Problem problem;
  const auto size = [&](const nlohmann::ordered_json& value, const std::string& where) {
    const Value parsed = value_from_json(value, fmt::format("{}: {}", file, where));
    const std::int64_t* number = std::get_if<std::int64_t>(&parsed);
    if (number == nullptr || *number < 1) throw InputError(fmt::format("{}: {}: expected a positive integer", file, where));
    return parsed;
  };
  const auto found = json.find("problem_size");
  if (found == json.end() || found->is_null()) {
    problem.set("n", std::int64_t{1});
  } else if (found->is_number()) {
    problem.set("d0", size(*found, "/problem_size"));
  } else if (found->is_array() && !found->empty()) {
    for (std::size_t i = 0; i < found->size(); ++i) {
      problem.set(fmt::format("d{}", i), size((*found)[i], fmt::format("/problem_size/{}", i)));
    }
  } else if (found->is_object() && !found->empty()) {
    for (const auto& [name, value] : found->items()) {
      const std::string where = "/problem_size/" + name;
      problem.set(name, value.is_string() ? Value(value.get<std::string>()) : size(value, where));
    }
  } else {
    throw InputError(fmt::format("{}: /problem_size: expected null, an integer, a list of integers, or an object", file));
  }
  return problem;
}

// A file of another tuner: JSON (perhaps packed) that has no CSV file beside it.
std::optional<ForeignRecording> foreign_at(const fs::path& path) {
  const std::string name = path.filename().string();
  std::error_code error;
  const bool packed = name.ends_with(".json.gz");
  if ((!packed && !name.ends_with(".json")) || !fs::is_regular_file(path, error)) return std::nullopt;
  if (!packed) {
    const std::string stem = name.substr(0, name.size() - std::string_view(".json").size());
    for (const char* ending : {".csv", ".csv.gz"}) {
      if (fs::is_regular_file(path.parent_path() / (stem + ending), error)) return std::nullopt;
    }
  }
  std::optional<ForeignRecording> foreign = read_foreign_recording(path);
  if (!foreign && packed) {
    throw InputError(fmt::format("{}: neither a Kernel Tuner cache, nor T4, nor KTT output", path.string()));
  }
  return foreign;
}

// Values of one kind: if they are not, all become text. In declared order, else ascending; texts as they come.
std::vector<Value> domain_of(std::vector<Value> declared, const std::vector<ForeignRecording::Row>& rows, std::size_t column) {
  const bool ordered = !declared.empty();
  std::set<Value> known(declared.begin(), declared.end());
  for (const ForeignRecording::Row& row : rows) {
    if (known.insert(row.values[column]).second) declared.push_back(row.values[column]);
  }
  const bool mixed = std::any_of(declared.begin(), declared.end(), [&](const Value& v) { return v.index() != declared.front().index(); });
  if (mixed) {
    for (Value& value : declared) value = to_text(value);
  } else if (!ordered && !std::holds_alternative<std::string>(declared.front())) {
    std::sort(declared.begin(), declared.end());
  }
  return declared;
}

// The design's words, and what other tuners' recordings call the same.
std::optional<Outcome> parse_status(std::string_view status) {
  static constexpr std::array<std::pair<std::string_view, Outcome>, 14> kAliases = {{
      {"correct", Outcome::ok},
      {"constraints", Outcome::invalid},
      {"InvalidConfig", Outcome::invalid},
      {"compile", Outcome::compile_error},
      {"compilation_error", Outcome::compile_error},
      {"CompilationFailedConfig", Outcome::compile_error},
      {"runtime", Outcome::launch_error},
      {"runtime_error", Outcome::launch_error},
      {"RuntimeFailedConfig", Outcome::launch_error},
      {"timeout", Outcome::run_timeout},
      {"correctness", Outcome::wrong_result},
      {"incorrect", Outcome::wrong_result},
      {"verification_error", Outcome::wrong_result},
      {"validation_failed", Outcome::wrong_result},
  }};
  if (const std::optional<Outcome> outcome = parse_outcome(status)) return outcome;
  for (const auto& [alias, outcome] : kAliases) {
    if (status == alias) return outcome;
  }
  return std::nullopt;
}

// Turns a line's texts into value indices and numbers.
class RowParser {
 public:
  RowParser(const std::vector<Parameter>& parameters, const std::vector<std::string>& header, const CsvReader& reader)
      : parameters_(parameters), reader_(reader) {
    std::unordered_map<std::string, std::size_t> columns;
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (!columns.emplace(header[i], i).second) reader.fail(fmt::format("the column {} appears twice", header[i]));
    }
    const auto column = [&](const std::string& name) {
      const auto found = columns.find(name);
      if (found == columns.end()) {
        const std::string nearest = nearest_word(name, header);
        reader.fail(fmt::format("the column {} is missing{}", name,
                                nearest.empty() ? "" : fmt::format(" (there is {})", nearest)));
      }
      return found->second;
    };
    width_ = header.size();
    for (const Parameter& parameter : parameters) {
      parameter_columns_.push_back(column(parameter.name));
      std::unordered_map<std::string, std::uint16_t>& indices = indices_.emplace_back();
      for (std::size_t v = 0; v < parameter.values.size(); ++v) {
        indices.emplace(to_text(parameter.values[v]), static_cast<std::uint16_t>(v));
      }
      // Python writes its bools so.
      const auto add_bool = [&](const char* python, const char* own) {
        if (const auto found = indices.find(own); found != indices.end()) indices.emplace(python, found->second);
      };
      add_bool("True", "true");
      add_bool("False", "false");
    }
    time_column_ = column("time_ms");
    status_column_ = column("status");
    if (const auto found = columns.find("cost_ms"); found != columns.end()) cost_column_ = found->second;
    for (const auto& [name, member] : kResourceColumns) {
      const auto found = columns.find(std::string(name));
      const auto is_parameter = [&wanted = name](const Parameter& parameter) { return parameter.name == wanted; };
      if (found == columns.end() || std::any_of(parameters.begin(), parameters.end(), is_parameter)) continue;
      resource_columns_.emplace_back(found->second, member);
    }
  }

  bool has_resources() const { return !resource_columns_.empty(); }

  // Appends the value indices to `rows`.
  Recording::Entry parse(const std::vector<std::string>& fields, std::vector<std::uint16_t>& rows) const {
    if (fields.size() != width_) {
      reader_.fail(fmt::format("{} fields, but the header has {} columns", fields.size(), width_));
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const std::string& text = fields[parameter_columns_[i]];
      const auto found = indices_[i].find(text);
      if (found == indices_[i].end()) {
        reader_.fail(fmt::format("{} = \"{}\" is not among the declared values of {}", parameters_[i].name, text,
                                 parameters_[i].name));
      }
      rows.push_back(found->second);
    }
    Recording::Entry entry;
    const std::optional<Outcome> outcome = parse_status(fields[status_column_]);
    if (!outcome) {
      std::vector<std::string_view> words;
      for (const Outcome known : kOutcomes) words.push_back(outcome_name(known));
      reader_.fail(fmt::format("unknown status \"{}\"; known are: {}", fields[status_column_], fmt::join(words, ", ")));
    }
    entry.outcome = *outcome;
    if (has_time(entry.outcome)) {
      const std::optional<double> time_ms = number(fields[time_column_], "time_ms");
      if (!time_ms || *time_ms <= 0) {
        reader_.fail(fmt::format("time_ms = \"{}\" with status {}: expected a positive time", fields[time_column_],
                                 fields[status_column_]));
      }
      entry.time_us = *time_ms * 1e3;
    }
    if (cost_column_) entry.cost_s = number(fields[*cost_column_], "cost_ms").value_or(0) * 1e-3;
    for (const auto& [column, member] : resource_columns_) {
      if (!fields[column].empty()) entry.resources.*member = amount(fields[column]);
    }
    return entry;
  }

 private:
  // Empty text gives none.
  std::optional<double> number(const std::string& text, std::string_view column) const {
    if (text.empty()) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // The bound keeps a million times the value finite.
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) || value < 0 || value > 1e30) {
      reader_.fail(fmt::format("{} = \"{}\": expected a number of milliseconds, not negative", column, text));
    }
    return value;
  }

  std::int64_t amount(const std::string& text) const {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;  // sums of several stay far from overflowing
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value > kMost) {
      reader_.fail(fmt::format("resource \"{}\": expected an integer, not negative, or nothing", text));
    }
    return value;
  }

  static constexpr std::array<std::pair<std::string_view, std::int64_t Resources::*>, 9> kResourceColumns = {{
      {"registers", &Resources::registers},
      {"shared_static_bytes", &Resources::shared_static_bytes},
      {"shared_dynamic_bytes", &Resources::shared_dynamic_bytes},
      {"spill_load_bytes", &Resources::spill_load_bytes},
      {"spill_store_bytes", &Resources::spill_store_bytes},
      {"stack_bytes", &Resources::stack_bytes},
      {"code_bytes", &Resources::code_bytes},
      {"max_threads_per_block", &Resources::max_threads_per_block},
      {"blocks_per_sm", &Resources::blocks_per_sm},
  }};

  const std::vector<Parameter>& parameters_;
  const CsvReader& reader_;
  std::size_t width_ = 0;
  std::vector<std::size_t> parameter_columns_;
  std::vector<std::unordered_map<std::string, std::uint16_t>> indices_;
  std::size_t time_column_ = 0;
  std::size_t status_column_ = 0;
  std::optional<std::size_t> cost_column_;
  std::vector<std::pair<std::size_t, std::int64_t Resources::*>> resource_columns_;
};

template <typename T>
std::string_view bytes_of(const std::vector<T>& items) {
  return {reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T)};
}

// True if all conditions hold; one that fails to evaluate is an error only if no other rejects, as in SearchSpace::build.
bool accepts(const SpaceDefinition& definition, const std::vector<Expression>& conditions, std::span<const Scalar> scope) {
  const Expression* failed = nullptr;
  for (const Expression& condition : conditions) {
    try {
      if (!condition.evaluate_bool(scope)) return false;
    } catch (const ExpressionError&) {
      failed = &condition;
    }
  }
  if (failed != nullptr) throw InputError(evaluation_failure(definition, *failed, scope));
  return true;
}

}  // namespace

Foresight Recording::Entry::foresight() const {
  const bool ends = outcome == Outcome::no_resources || outcome == Outcome::compile_error || outcome == Outcome::compile_timeout;
  return {ends ? outcome : Outcome::ok, resources};
}

Recording Recording::load(const fs::path& path) {
  if (const std::optional<ForeignRecording> foreign = foreign_at(path)) {
    Recording recording;
    recording.adopt_foreign(*foreign, path);
    return recording;
  }
  const Files files = find_files(path);
  Recording recording;
  const std::optional<std::vector<std::string>> constraints = recording.read_declaration(files.json, files.stem);
  recording.read_rows(files.csv);
  recording.adopt_constraints(constraints);
  return recording;
}

std::optional<std::vector<std::string>> Recording::read_declaration(const fs::path& path, const std::string& stem) {
  const std::string file = path.string();
  const std::string text = read_text_file(path);
  const nlohmann::ordered_json json = parse_json_text(text, file);
  std::vector<Parameter> parameters = parse_parameters(json, file);
  name_ = stem;
  kernel_ = text_under(json, "kernel", file, text_under(json, "name", file, stem));
  device_.kind = "replay";
  device_.name = text_under(json, "gpu", file, stem);
  problem_ = parse_problem(json, file);
  definition_ = define_space(std::move(parameters), problem_.items(), names_);
  hash_ = tunebook::content_hash(text);
  return parse_constraint_texts(json, file);
}

void Recording::read_rows(const fs::path& path) {
  CsvReader reader(path);
  std::vector<std::string> fields;
  if (!reader.next(fields)) throw InputError(fmt::format("{}: the file is empty; expected a header line", path.string()));
  const RowParser parser(definition_.parameters, fields, reader);
  std::vector<std::uint16_t> rows;
  std::vector<Entry> entries;
  while (reader.next(fields)) entries.push_back(parser.parse(fields, rows));
  if (entries.empty()) throw InputError(fmt::format("{}: no configurations after the header", path.string()));
  if (parser.has_resources()) resources_.resize(1);  // there are some: set_rows() keeps them
  set_rows(rows, entries);
}

void Recording::adopt_foreign(const ForeignRecording& foreign, const fs::path& path) {
  const std::string file = path.string();
  name_ = path.filename().string();
  for (const std::string_view ending : {".gz", ".json"}) name_ = without_ending(name_, ending).value_or(name_);
  kernel_ = foreign.kernel.empty() ? name_ : foreign.kernel;
  device_.kind = "replay";
  device_.name = foreign.gpu.empty() ? name_ : foreign.gpu;
  // Some caches hold the text of an expression there.
  const bool usable = foreign.problem_size.is_number() || foreign.problem_size.is_array();
  problem_ = parse_problem({{"problem_size", usable ? foreign.problem_size : nlohmann::ordered_json()}}, file);
  std::vector<Parameter> parameters;
  std::vector<std::map<std::string, std::uint16_t>> indices;
  for (std::size_t i = 0; i < foreign.parameters.size(); ++i) {
    Parameter& parameter = parameters.emplace_back();
    parameter.name = foreign.parameters[i];
    parameter.values = domain_of(foreign.declared[i], foreign.rows, i);
    std::map<std::string, std::uint16_t>& index = indices.emplace_back();
    for (std::size_t v = 0; v < parameter.values.size(); ++v) index.emplace(to_text(parameter.values[v]), static_cast<std::uint16_t>(v));
  }
  definition_ = define_space(std::move(parameters), problem_.items(), names_);
  std::vector<std::uint16_t> rows;
  std::vector<Entry> entries;
  for (const ForeignRecording::Row& row : foreign.rows) {
    for (std::size_t i = 0; i < row.values.size(); ++i) rows.push_back(indices[i].at(to_text(row.values[i])));
    entries.push_back({row.outcome, row.time_us, row.cost_s});
  }
  hash_ = tunebook::content_hash(foreign.format + kernel_ + device_.name);
  set_rows(rows, entries);
  rows_reason_ = fmt::format("a {} file holds no constraints", foreign.format);
}

void Recording::set_rows(const std::vector<std::uint16_t>& rows, const std::vector<Entry>& entries) {
  SpaceDefinition bare = definition_;
  rows_.emplace(SearchSpace::from_rows(std::move(bare), rows));
  constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();
  constexpr std::uint8_t kUnset = 0xff;
  times_us_.assign(rows_->size(), kNoTime);
  costs_s_.assign(rows_->size(), 0);
  outcomes_.assign(rows_->size(), kUnset);
  if (has_resources()) resources_.assign(rows_->size(), Resources{});
  const std::size_t width = definition_.parameters.size();
  for (std::size_t n = 0; n < entries.size(); ++n) {
    const std::uint64_t index = rows_->find(std::span<const std::uint16_t>(rows).subspan(n * width, width)).value();
    if (outcomes_[index] != kUnset) continue;
    outcomes_[index] = static_cast<std::uint8_t>(entries[n].outcome);
    times_us_[index] = entries[n].time_us.value_or(kNoTime);
    costs_s_[index] = static_cast<float>(entries[n].cost_s);
    if (has_resources()) resources_[index] = entries[n].resources;
  }
  hash_ = HashBuilder().add(hash_).add(bytes_of(rows)).add(bytes_of(times_us_)).add(bytes_of(costs_s_))
              .add(bytes_of(outcomes_)).hex();
  if (has_resources()) hash_ = HashBuilder().add(hash_).add(bytes_of(resources_)).hex();
}

void Recording::adopt_constraints(const std::optional<std::vector<std::string>>& texts) {
  if (!texts) {
    rows_reason_ = "the recording declares no constraints";
    return;
  }
  SpaceDefinition constrained = definition_;
  for (const std::string& text : *texts) {
    try {
      constrained.constraints.push_back(Expression::compile(text, names_));
    } catch (const ExpressionError& error) {
      rows_reason_ = fmt::format("constraint \"{}\", column {}: {}", text, error.column, error.what());
      return;
    }
  }
  std::optional<SearchSpace> built;
  try {
    built.emplace(SearchSpace::build(constrained, rows_->size()));
  } catch (const InputError& error) {
    rows_reason_ = fmt::format("the constraints do not give the {} recorded configurations: {}", rows_->size(), error.what());
    return;
  }
  std::vector<std::uint16_t> row(definition_.parameters.size());
  for (std::uint64_t i = 0; i < rows_->size(); ++i) {
    rows_->row(i, row);
    if (i < built->size() && built->find(std::span<const std::uint16_t>(row)) == i) continue;
    rows_reason_ = fmt::format("the constraints allow {} configurations, not exactly the {} recorded ones", built->size(),
                               rows_->size());
    return;
  }
  definition_ = std::move(constrained);
}

SearchSpace Recording::space(const std::vector<std::string>& where) const {
  const std::vector<Expression> conditions = compile_where(where, names_);
  SpaceDefinition narrowed = definition_;
  narrowed.constraints.insert(narrowed.constraints.end(), conditions.begin(), conditions.end());
  if (rows_reason_.empty()) return SearchSpace::build(std::move(narrowed));
  if (conditions.empty()) return *rows_;

  std::vector<std::uint16_t> kept;
  std::vector<std::uint16_t> row(narrowed.parameters.size());
  std::vector<Scalar> scope = narrowed.scope;
  for (std::uint64_t i = 0; i < rows_->size(); ++i) {
    rows_->row(i, row);
    for (std::size_t p = 0; p < row.size(); ++p) {
      scope[static_cast<std::size_t>(narrowed.slots[p])] = Scalar::from(narrowed.parameters[p].values[row[p]]);
    }
    if (accepts(narrowed, conditions, scope)) kept.insert(kept.end(), row.begin(), row.end());
  }
  return SearchSpace::from_rows(std::move(narrowed), kept);
}

Recording::Entry Recording::entry(std::uint64_t index) const {
  const std::size_t i = static_cast<std::size_t>(index);
  Entry entry;
  entry.outcome = static_cast<Outcome>(outcomes_.at(i));
  if (!std::isnan(times_us_[i])) entry.time_us = times_us_[i];
  entry.cost_s = static_cast<double>(costs_s_[i]);
  if (has_resources()) entry.resources = resources_[i];
  return entry;
}

std::optional<Recording::Entry> Recording::lookup(const Configuration& configuration) const {
  const std::optional<std::uint64_t> index = rows_->find(configuration);
  if (!index) return std::nullopt;
  return entry(*index);
}

}  // namespace tunebook
