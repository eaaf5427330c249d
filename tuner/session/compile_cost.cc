#include "session/compile_cost.h"

#include <cmath>

namespace tunebook {
namespace {

// Until there are times, larger values are taken to mean more code: a slope of this, with the weight of one unit of spread.
constexpr double kPriorSlope = 0.2;
constexpr double kPriorWeight = 1.0;

double feature(std::int64_t value) { return std::log2(1.0 + std::abs(static_cast<double>(value))); }

}  // namespace

double CompileCostModel::Slope::value() const {
  const double spread = n * xx - x * x;
  return (n * xy - x * y + kPriorSlope * kPriorWeight) / (spread + kPriorWeight);
}

void CompileCostModel::observe(const Configuration& configuration, double seconds) {
  if (seconds <= 0) return;  // from the cache
  const double y = std::log(seconds);
  for (const auto& [name, value] : configuration.items()) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (integer == nullptr) continue;
    const double x = feature(*integer);
    Slope& slope = slopes_[name];
    slope.n += 1;
    slope.x += x;
    slope.y += y;
    slope.xx += x * x;
    slope.xy += x * y;
  }
}

double CompileCostModel::relative_cost(const Configuration& configuration) const {
  double cost = 0;
  for (const auto& [name, value] : configuration.items()) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    const auto slope = slopes_.find(name);
    if (integer != nullptr) cost += (slope == slopes_.end() ? kPriorSlope : slope->second.value()) * feature(*integer);
  }
  return cost;
}

}  // namespace tunebook
