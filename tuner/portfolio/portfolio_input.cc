#include "portfolio/portfolio_input.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "db/lookup_check.h"
#include "db/lookup_nearest.h"

namespace tunebook {
namespace {

// As models have it: a configuration that loses more is not told from one that loses this.
constexpr double kMaxLoss = 0.999;

struct Seen {
  bool verified = false;
  double most_lost = 0, sum = 0;
  std::int64_t timed = 0, registers = -1, shared_bytes = -1;
  bool best_somewhere = false;
};

bool is_timed(const TrainingTrial& trial) {
  return (trial.outcome == Outcome::ok || trial.outcome == Outcome::abandoned) &&
         trial.median_us > 0;
}

class InputBuilder {
 public:
  InputBuilder(const TrainingGroup& group, const TimeModel* model) : group_(group), model_(model) {}

  PortfolioInput run() {
    find_best_times();
    look_at_configurations();
    choose_columns();
    result_.matrix = PortfolioMatrix(result_.problems.size(), columns_.size());
    for (const std::uint32_t column : columns_) {
      result_.configurations.push_back(group_.configurations[column]);
    }
    prepare_features();
    fill_measured();
    fill_holes();
    return std::move(result_);
  }

 private:
  void find_best_times() {
    std::vector<double> best(group_.problems.size(), std::numeric_limits<double>::infinity());
    for (const TrainingTrial& trial : group_.trials) {
      const bool counts = trial.outcome == Outcome::ok && trial.verified && trial.median_us > 0;
      if (counts && !group_.proved_bad[trial.configuration]) {
        best[trial.problem] = std::min(best[trial.problem], trial.median_us);
      }
    }
    row_of_.assign(group_.problems.size(), kNone);
    for (std::size_t p = 0; p < best.size(); ++p) {
      if (!std::isfinite(best[p])) continue;
      row_of_[p] = result_.problems.size();
      result_.problems.push_back(group_.problems[p]);
      result_.best_us.push_back(best[p]);
    }
  }

  double cost_of_time(std::size_t row, double median_us) const {
    return std::log(std::max(1.0, median_us / result_.best_us[row]));
  }

  void look_at_configurations() {
    seen_.resize(group_.configurations.size());
    for (const TrainingTrial& trial : group_.trials) {
      Seen& seen = seen_[trial.configuration];
      seen.registers = std::max(seen.registers, trial.registers);
      seen.shared_bytes = std::max(seen.shared_bytes, trial.shared_bytes);
      const std::size_t row = row_of_[trial.problem];
      if (row == kNone || !is_timed(trial)) continue;
      const double cost = cost_of_time(row, trial.median_us);
      seen.verified = seen.verified || (trial.outcome == Outcome::ok && trial.verified);
      seen.best_somewhere = seen.best_somewhere || cost == 0;
      seen.sum += cost;
      ++seen.timed;
    }
  }

  void choose_columns() {
    for (std::uint32_t c = 0; c < group_.configurations.size(); ++c) {
      if (seen_[c].verified && !group_.proved_bad[c]) columns_.push_back(c);
    }
    if (columns_.size() <= kMaxPortfolioCandidates) return;
    std::stable_sort(columns_.begin(), columns_.end(), [&](std::uint32_t x, std::uint32_t y) {
      const auto rank = [&](std::uint32_t c) {
        return std::pair(!seen_[c].best_somewhere,
                         seen_[c].sum / static_cast<double>(seen_[c].timed));
      };
      return rank(x) < rank(y);
    });
    columns_.resize(kMaxPortfolioCandidates);
    std::sort(columns_.begin(), columns_.end());
  }

  void prepare_features() {
    if (model_ == nullptr) return;
    for (const std::string& text : model_->features) {
      features_.push_back(Expression::compile(text, group_.spec.names));
    }
  }

  void fill_measured() {
    std::vector<std::size_t> column_of(group_.configurations.size(), kNone);
    for (std::size_t i = 0; i < columns_.size(); ++i) column_of[columns_[i]] = i;
    slowest_.assign(result_.problems.size(), 0.0);
    for (const TrainingTrial& trial : group_.trials) {
      const std::size_t row = row_of_[trial.problem], column = column_of[trial.configuration];
      if (row == kNone || !is_timed(trial)) continue;
      const double cost = cost_of_time(row, trial.median_us);
      slowest_[row] = std::max(slowest_[row], cost);
      if (column != kNone) result_.matrix.set(row, column, cost, true);
    }
  }

  void fill_holes() {
    std::size_t valid = 0, measured = 0;
    std::vector<float> values(features_.size());
    for (std::size_t row = 0; row < result_.problems.size(); ++row) {
      const Problem& problem = result_.problems[row];
      KernelSpec::Scope scope = group_.spec.scope(problem, group_.device);
      for (std::size_t column = 0; column < columns_.size(); ++column) {
        const std::size_t place = row * columns_.size() + column;
        if (result_.matrix.measured[place] == 0) {
          if (!usable(problem, column)) continue;
          result_.matrix.set(row, column, guess(scope, row, column, values), false);
        }
        ++valid;
        measured += result_.matrix.measured[place];
      }
    }
    result_.measured_share =
        valid == 0 ? 0 : static_cast<double>(measured) / static_cast<double>(valid);
  }

  bool usable(const Problem& problem, std::size_t column) const {
    const Seen& seen = seen_[columns_[column]];
    BlockNeeds needs;
    if (seen.registers >= 0) needs.registers_per_thread = seen.registers;
    if (seen.shared_bytes >= 0) needs.shared_bytes = seen.shared_bytes;
    return check_candidate(group_.spec, problem, result_.configurations[column], group_.device,
                           needs)
        .usable();
  }

  double guess(KernelSpec::Scope& scope, std::size_t row, std::size_t column,
               std::vector<float>& values) const {
    if (model_ == nullptr) return slowest_[row];
    group_.spec.bind(scope, result_.configurations[column]);
    for (std::size_t i = 0; i < features_.size(); ++i) {
      values[i] = feature_value(features_[i], scope);
    }
    const double predicted =
        static_cast<double>(model_->predict(values.data())) * TimeModel::kLossUnit;
    return -std::log(1 - std::clamp(predicted, 0.0, kMaxLoss));
  }

  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  const TrainingGroup& group_;
  const TimeModel* model_;
  PortfolioInput result_;
  std::vector<std::size_t> row_of_;     // by the group's problem
  std::vector<Seen> seen_;              // by the group's configuration
  std::vector<std::uint32_t> columns_;  // the group's configuration
  std::vector<double> slowest_;         // per row
  std::vector<Expression> features_;
};

// The problem of an entry, complete and in declared order.
Problem read_problem(const nlohmann::ordered_json& json, const KernelSpec& spec,
                     const std::string& where) {
  if (!json.is_object())
    throw InputError(fmt::format("{}: expected \"problem\": {{\"m\": 1, ...}}", where));
  Problem given;
  std::vector<std::string> known;
  for (const Dimension& dimension : spec.dimensions) known.push_back(dimension.name);
  for (const auto& [name, value] : json.items()) {
    if (spec.find_dimension(name) == nullptr) {
      const std::string near = nearest_word(name, known);
      throw InputError(fmt::format("{}: kernel {} has no dimension '{}'{}", where, spec.name, name,
                                   near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    if (value.is_number_integer())
      given.set(name, value.get<std::int64_t>());
    else if (value.is_string())
      given.set(name, value.get<std::string>());
    else
      throw InputError(
          fmt::format("{}: the dimension {} is neither an integer nor a text", where, name));
  }
  Problem problem;
  for (const Dimension& dimension : spec.dimensions) {
    if (const Value* value = given.find(dimension.name))
      problem.set(dimension.name, *value);
    else if (dimension.categorical)
      problem.set(dimension.name, spec.default_of(dimension, given));
    else
      throw InputError(fmt::format("{}: the problem lacks the size {}", where, dimension.name));
  }
  try {
    spec.check_problem(problem);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  }
  return problem;
}

std::vector<std::int64_t> sizes_of(const KernelSpec& spec, const Problem& problem) {
  std::vector<std::int64_t> sizes;
  for (const Dimension& dimension : spec.dimensions) {
    if (!dimension.categorical) sizes.push_back(std::get<std::int64_t>(problem.at(dimension.name)));
  }
  return sizes;
}

std::size_t nearest_row(const KernelSpec& spec, const PortfolioInput& input, const Problem& asked) {
  std::size_t best = 0;
  auto least = std::pair(true, std::numeric_limits<double>::infinity());
  const std::vector<std::int64_t> sizes = sizes_of(spec, asked);
  for (std::size_t row = 0; row < input.problems.size(); ++row) {
    const Problem& problem = input.problems[row];
    const bool other = std::any_of(
        spec.dimensions.begin(), spec.dimensions.end(), [&](const Dimension& dimension) {
          return dimension.categorical && !(problem.at(dimension.name) == asked.at(dimension.name));
        });
    const auto distance = std::pair(other, problem_distance(sizes, sizes_of(spec, problem)));
    if (distance < least) {
      least = distance;
      best = row;
    }
  }
  return best;
}

// The entries of the file with the places for messages: of an array its elements, else of each
// line.
std::vector<std::pair<std::string, nlohmann::ordered_json>> entries_of(
    const std::filesystem::path& file) {
  const std::string text = read_text_file(file);
  std::vector<std::pair<std::string, nlohmann::ordered_json>> entries;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '[') {
    const nlohmann::ordered_json list = parse_json_text(text, file.string());
    for (std::size_t i = 0; i < list.size(); ++i) {
      entries.emplace_back(fmt::format("{}: /{}", file.string(), i), list[i]);
    }
    return entries;
  }
  std::size_t start = 0;
  for (std::size_t line = 1; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string one = text.substr(start, end - start);
    start = end + 1;
    if (one.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("{}:{}", file.string(), line);
    entries.emplace_back(where, parse_json_text(one, where));
  }
  return entries;
}

}  // namespace

PortfolioInput portfolio_input(const TrainingGroup& group, const TimeModel* model) {
  return InputBuilder(group, model).run();
}

std::size_t read_weights(const std::filesystem::path& file, const KernelSpec& spec,
                         const std::string& dtype, PortfolioInput& input) {
  std::vector<double> weights(input.problems.size(), 0.0);
  std::size_t counted = 0;
  for (const auto& [where, entry] : entries_of(file)) {
    if (!entry.is_object() || !entry.contains("problem")) {
      throw InputError(fmt::format(
          "{}: expected an object such as {{\"problem\": {{\"m\": 1}}, \"weight\": 2}}", where));
    }
    if (entry.contains("kernel") && entry["kernel"] != spec.name) continue;
    double weight = 1;
    if (entry.contains("weight")) {
      const auto& given = entry["weight"];
      weight = given.is_number() ? given.get<double>() : -1;
      if (!(weight > 0) || !std::isfinite(weight)) {
        throw InputError(
            fmt::format("{}: found the weight {}, expected a number above 0", where, given.dump()));
      }
    }
    const Problem problem = read_problem(entry["problem"], spec, where);
    if (!dtype.empty() && to_text(problem.at("dtype")) != dtype) continue;
    if (!input.problems.empty()) weights[nearest_row(spec, input, problem)] += weight;
    ++counted;
  }
  if (counted == 0) {
    throw InputError(fmt::format("{}: no entry is of kernel {}{}", file.string(), spec.name,
                                 dtype.empty() ? "" : " with dtype " + dtype));
  }
  input.matrix.weights = std::move(weights);
  return counted;
}

}  // namespace tunebook
