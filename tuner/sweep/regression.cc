#include "sweep/regression.h"

#include <algorithm>

#include "core/statistics.h"

namespace tunebook {

std::optional<Slowdown> slower_than_before(const std::vector<double>& before, const std::vector<double>& now) {
  if (before.empty() || now.empty() || !(median(before) > 0)) return std::nullopt;
  Slowdown slowdown;
  slowdown.ratio = median(now) / median(before);
  double noise = 0;
  if (const auto welch = welch_ratio(before, now)) noise = welch->interval.high / welch->ratio - 1;
  slowdown.allowed = 1 + std::max(kRegressionShare, noise);
  return slowdown.ratio > slowdown.allowed ? std::optional(slowdown) : std::nullopt;
}

}  // namespace tunebook
