#include "search/component_count.h"

#include <cmath>
#include <unordered_map>
#include <utility>

#include "core/random.h"

namespace tunebook {
namespace {

constexpr std::uint64_t kEstimateSeed = 0x6b6e'7574'6821;

}  // namespace

// Of all combinations that agree in what later constraints read.
struct ComponentCount::Sum {
  double count = 0;
  double failing = 0;
  std::uint64_t exact = 0;
  bool overflow = false;

  void add(const Sum& other, bool fails) {
    failing += other.failing + (fails ? other.count : 0);
    if (fails) return;
    count += other.count;
    overflow = overflow || other.overflow || __builtin_add_overflow(exact, other.exact, &exact);
  }
};

ComponentCount::ComponentCount(const SpaceDefinition& definition, std::vector<Scalar> scope, std::vector<Level> levels)
    : definition_(definition), scope_(std::move(scope)), levels_(std::move(levels)) {}

ComponentCount::Verdict ComponentCount::check(const Level& level) {
  bool fails = false;
  for (const std::size_t constraint : level.constraints) {
    try {
      if (!definition_.constraints[constraint].evaluate_bool(scope_)) return Verdict::reject;
    } catch (const ExpressionError&) {
      fails = true;
    }
  }
  return fails ? Verdict::fail : Verdict::pass;
}

ComponentCount::Result ComponentCount::run(std::uint64_t max_steps) {
  Result result;
  const auto give_up = [&result] {
    result.complete = false;
    return result;
  };
  std::vector<std::uint16_t> row(definition_.parameters.size(), 0);
  std::unordered_map<std::uint64_t, Sum> states = {{0, {1, 0, 1, false}}};  // by the values of the live parameters, as one number
  std::vector<std::pair<std::size_t, std::uint64_t>> strides;               // of the live parameters in that number
  for (const Level& level : levels_) {
    std::vector<std::pair<std::size_t, std::uint64_t>> next_strides;
    std::uint64_t size = 1;
    for (const std::size_t parameter : level.live) {
      next_strides.emplace_back(parameter, size);
      if (__builtin_mul_overflow(size, definition_.parameters[parameter].values.size(), &size)) return give_up();
    }
    std::unordered_map<std::uint64_t, Sum> next;
    const std::size_t slot = static_cast<std::size_t>(definition_.slots[level.parameter]);
    for (const auto& [key, sum] : states) {
      for (const auto& [parameter, stride] : strides) {
        const std::vector<Value>& values = definition_.parameters[parameter].values;
        row[parameter] = static_cast<std::uint16_t>(key / stride % values.size());
        scope_[static_cast<std::size_t>(definition_.slots[parameter])] = Scalar::from(values[row[parameter]]);
      }
      for (const std::uint16_t index : level.domain) {
        if (++result.steps > max_steps) return give_up();
        scope_[slot] = level.scalars[index];
        row[level.parameter] = index;
        const Verdict verdict = check(level);
        if (verdict == Verdict::reject) continue;
        std::uint64_t next_key = 0;
        for (const auto& [parameter, stride] : next_strides) next_key += stride * row[parameter];
        next[next_key].add(sum, verdict == Verdict::fail);
        if (next.size() > kMaxStates) return give_up();
      }
    }
    states = std::move(next);
    strides = std::move(next_strides);
  }
  // Nothing is live behind the last level: there is one state, or none.
  Sum total;
  for (const auto& [key, sum] : states) total.add(sum, false);
  result.count = total.count;
  result.failing = total.failing;
  if (!total.overflow) result.exact = total.exact;
  return result;
}

ComponentCount::Estimate ComponentCount::estimate(int descents) {
  Random random(kEstimateSeed);
  double sum = 0;
  double squares = 0;
  std::vector<std::uint16_t> possible;
  for (int n = 0; n < descents; ++n) {
    double weight = 1;
    for (const Level& level : levels_) {
      const std::size_t slot = static_cast<std::size_t>(definition_.slots[level.parameter]);
      possible.clear();
      for (const std::uint16_t index : level.domain) {
        scope_[slot] = level.scalars[index];
        if (check(level) == Verdict::pass) possible.push_back(index);
      }
      weight *= static_cast<double>(possible.size());
      if (possible.empty()) break;
      scope_[slot] = level.scalars[possible[random.below(possible.size())]];
    }
    sum += weight;
    squares += weight * weight;
  }
  const double mean = sum / descents;
  return {mean, std::sqrt(std::max(0.0, squares / descents - mean * mean) / descents)};
}

}  // namespace tunebook
