#pragma once

#include <optional>
#include <vector>

namespace tunebook {

// A winner that is slower than the one before it.
struct Slowdown {
  double ratio = 1;      // of the medians, new over old
  double allowed = 1;    // the ratio that it exceeds
};

// Slower means: by more than kRegressionShare, and by more than the noise of both measurements, which is the half width of the 95 %
// interval of the ratio of geometric means (Welch's on logarithms) where both have two fresh processes or more. Times of each process, in
// whatever unit; nothing if either is empty.
std::optional<Slowdown> slower_than_before(const std::vector<double>& before, const std::vector<double>& now);

inline constexpr double kRegressionShare = 0.02;

}  // namespace tunebook
