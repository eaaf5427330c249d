#include "learn/adviser.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/launch_plan.h"

namespace tunebook::learn {
namespace {

// Above every predicted score, so that it is never chosen as long as anything else is.
constexpr std::int64_t kCannotLaunch = std::numeric_limits<std::int64_t>::max();

Expression compile_feature(const std::string& text, const KernelSpec& spec) {
  try {
    return Expression::compile(text, spec.names);
  } catch (const ExpressionError& error) {
    throw InputError(
        fmt::format("model of {}: feature `{}`: column {}: {}; learn it anew: tunebook learn",
                    spec.name, text, error.column, error.what()));
  }
}

}  // namespace

Adviser::Adviser(TimeModel model, KernelSpec spec, const Problem& problem, const Device& device)
    : model_(std::move(model)),
      spec_(std::move(spec)),
      device_(device),
      scope_(spec_.scope(problem, device)) {
  for (const Parameter& parameter : spec_.parameters) {
    std::vector<Scalar>& values = values_.emplace_back();
    for (const Value& value : parameter.values) values.push_back(Scalar::from(value));
  }
  const auto first = static_cast<int>(spec_.dimensions.size()),
             last = first + static_cast<int>(spec_.parameters.size());
  for (std::size_t i = 0; i < model_.features.size(); ++i) {
    Expression expression = compile_feature(model_.features[i], spec_);
    const auto reads_parameter = [&](int slot) { return slot >= first && slot < last; };
    const bool varies =
        std::any_of(expression.slots().begin(), expression.slots().end(), reads_parameter);
    feature_values_.push_back(varies ? TimeModel::kNoValue : feature_value(expression, scope_));
    if (varies) features_.push_back({i, std::move(expression)});
  }
}

std::vector<Configuration> Adviser::best_of_space(const SearchSpace& space, std::size_t count) {
  std::vector<Configuration> chosen;
  if (!fits(space)) return chosen;
  const RowPredictor predict = [this](std::span<const std::uint16_t> row) { return score(row); };
  for (const PredictedIndex& one : least_predicted(space, predict, count, candidates_in(space))) {
    if (one.score != kCannotLaunch) chosen.push_back(space.configuration(one.index));
  }
  return chosen;
}

std::vector<Configuration> Adviser::best_of_candidates(const SearchSpace& space,
                                                       std::size_t count) {
  std::vector<PredictedIndex> predicted;
  std::vector<std::uint16_t> row(space.parameter_count());
  for (const std::uint64_t index : candidates_in(space)) {
    space.row(index, row);
    predicted.push_back({score(row), index});
  }
  std::vector<Configuration> chosen;
  for (const PredictedIndex& one : least_of(std::move(predicted), count)) {
    if (one.score != kCannotLaunch) chosen.push_back(space.configuration(one.index));
  }
  return chosen;
}

std::vector<Configuration> Adviser::first_to_try(const SearchSpace& space, std::size_t count) {
  // Each list as long as the whole choice: what is in both takes the place of one only.
  const std::vector<Configuration> lists[] = {best_of_candidates(space, count),
                                              best_of_space(space, count)};
  std::vector<Configuration> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::vector<Configuration>& list : lists) {
      if (i >= list.size() || chosen.size() == count) continue;
      if (std::find(chosen.begin(), chosen.end(), list[i]) == chosen.end())
        chosen.push_back(list[i]);
    }
  }
  return chosen;
}

double Adviser::predicted_loss(const Configuration& configuration) {
  spec_.check_configuration(configuration, "configuration");
  std::vector<std::uint16_t> row;
  for (const Parameter& parameter : spec_.parameters) {
    const auto value = std::find(parameter.values.begin(), parameter.values.end(),
                                 configuration.at(parameter.name));
    row.push_back(static_cast<std::uint16_t>(value - parameter.values.begin()));
  }
  bind(row);
  return bound_loss();
}

// Of the configuration that is bound.
double Adviser::bound_loss() const {
  constexpr double kMost = 0.999;
  return std::clamp(
      static_cast<double>(model_.predict(feature_values_.data())) * TimeModel::kLossUnit, 0.0,
      kMost);
}

std::optional<double> Adviser::least_predicted_loss(std::size_t most) {
  std::optional<double> least;
  const bool on_cpu = device_.kind == "cpu" && !spec_.cpu.empty();
  for (const TimeModel::Candidate& candidate : model_.candidates) {
    if (most == 0) break;
    if (candidate.values.size() != spec_.parameters.size()) continue;
    bind_parameters(candidate.values);
    try {
      if (spec_.violated_constraint(scope_) != nullptr ||
          (on_cpu && !spec_.cpu.evaluate_bool(scope_)) || !launches())
        continue;
    } catch (const InputError&) {  // a constraint without a value is one that does not hold
      continue;
    } catch (const ExpressionError&) {
      continue;
    }
    --most;
    bind(candidate.values);
    const double loss = bound_loss();
    if (!least || loss < *least) least = loss;
  }
  return least;
}

void Adviser::bind_parameters(std::span<const std::uint16_t> row) {
  for (std::size_t p = 0; p < row.size(); ++p)
    scope_[spec_.dimensions.size() + p] = values_[p][row[p]];
}

void Adviser::bind(std::span<const std::uint16_t> row) {
  bind_parameters(row);
  for (const Feature& feature : features_)
    feature_values_[feature.index] = feature_value(feature.expression, scope_);
}

bool Adviser::launches() const {
  try {
    return std::all_of(spec_.launches.begin(), spec_.launches.end(), [&](const Launch& launch) {
      if (evaluate_repeat(launch, scope_, spec_.name) == 0) return true;
      const std::int64_t fixed = launch.static_shared_bytes.empty()
                                     ? 0
                                     : launch.static_shared_bytes.evaluate_integer(scope_);
      return launch_limit_violated(evaluate_launch(launch, scope_, spec_.name), fixed,
                                   device_.limits)
          .empty();
    });
  } catch (const InputError&) {  // what cannot be launched is no advice
    return false;
  } catch (const ExpressionError&) {
    return false;
  }
}

std::int64_t Adviser::score(std::span<const std::uint16_t> row) {
  bind(row);
  return launches() ? model_.predict(feature_values_.data()) : kCannotLaunch;
}

std::vector<std::uint64_t> Adviser::candidates_in(const SearchSpace& space) const {
  std::vector<std::uint64_t> indices;
  if (!fits(space)) return indices;
  for (const TimeModel::Candidate& candidate : model_.candidates) {
    if (candidate.values.size() != space.parameter_count()) continue;
    if (const auto index = space.find(std::span<const std::uint16_t>(candidate.values)))
      indices.push_back(*index);
  }
  return indices;
}

// Whether rows of the space are rows of the declaration.
bool Adviser::fits(const SearchSpace& space) const {
  const std::vector<Parameter>& parameters = space.parameters();
  return std::equal(parameters.begin(), parameters.end(), spec_.parameters.begin(),
                    spec_.parameters.end(), [](const Parameter& x, const Parameter& y) {
                      return x.name == y.name && x.values == y.values;
                    });
}

}  // namespace tunebook::learn
