#include "reports/convergence.h"

#include <algorithm>
#include <cmath>

namespace tunebook::reports {
namespace {

// Times are left out of a mean when together they are the best of a smaller share of the draws than this.
constexpr double kNegligible = 1e-15;

std::vector<std::int64_t> logarithmic_steps(std::int64_t last, std::size_t points) {
  std::vector<std::int64_t> steps;
  const std::size_t count = std::max<std::size_t>(points, 2);
  for (std::size_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(count - 1);
    const auto step = static_cast<std::int64_t>(std::llround(std::exp(share * std::log(static_cast<double>(last)))));
    if (steps.empty() || step > steps.back()) steps.push_back(std::min(step, last));
  }
  return steps;
}

// `sorted` ascending; `all` trials of which the rest failed.
double expected_best(const std::vector<double>& sorted, std::int64_t all, std::int64_t draws) {
  const auto n = static_cast<double>(draws);
  const auto total = static_cast<double>(all);
  double probability = n / total;  // that the best is the first: C(N - 1, n - 1) / C(N, n)
  double sum = 0, seen = 0;
  for (std::size_t i = 0; i < sorted.size() && probability > 0; ++i) {
    sum += probability * sorted[i];
    seen += probability;
    // C(N - i - 1, n - 1) / C(N - i, n - 1) with i counted from 1; all that follow sum to at most C(N - i, n) / C(N, n).
    const double rest = total - static_cast<double>(i) - 1;
    if (probability * (rest - n + 1) / n < kNegligible * seen) break;
    probability = rest > 0 ? probability * std::max(0.0, rest - n + 1) / rest : 0;
  }
  return sum / seen;  // `seen` is 1 less the share of draws with failures alone
}

}  // namespace

std::vector<Improvement> improvements(std::span<const std::optional<double>> times) {
  std::vector<Improvement> curve;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] && (curve.empty() || *times[i] < curve.back().time_us)) {
      curve.push_back({static_cast<std::int64_t>(i) + 1, *times[i]});
    }
  }
  return curve;
}

std::vector<RandomExpectation> random_expectation(std::span<const std::optional<double>> times, std::size_t points) {
  std::vector<double> sorted;
  for (const std::optional<double>& time : times) {
    if (time) sorted.push_back(*time);
  }
  std::vector<RandomExpectation> curve;
  if (sorted.empty()) return curve;
  std::sort(sorted.begin(), sorted.end());
  const auto all = static_cast<std::int64_t>(times.size());
  for (const std::int64_t draws : logarithmic_steps(all, points)) curve.push_back({draws, expected_best(sorted, all, draws)});
  return curve;
}

}  // namespace tunebook::reports
