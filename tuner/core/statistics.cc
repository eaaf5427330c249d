#include "core/statistics.h"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/students_t.hpp>

namespace tunebook {
namespace {

double median_of_sorted(std::span<const double> sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : sorted[half - 1] + (sorted[half] - sorted[half - 1]) / 2;
}

std::vector<double> sorted_copy(std::span<const double> sample) {
  std::vector<double> sorted(sample.begin(), sample.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

double median(std::span<const double> sample) { return median_of_sorted(sorted_copy(sample)); }

Interval median_interval(std::span<const double> sample, double confidence) {
  const std::vector<double> sorted = sorted_copy(sample);
  const auto count = static_cast<double>(sorted.size());
  // The tail P(B(n, 1/2) < r) is summed term by term; a term is kept as its logarithm because 2^-n underflows from n = 1075 on.
  double log_term = -count * std::log(2.0);  // P(B = 0)
  double tail = std::exp(log_term);          // P(B < 1)
  std::size_t rank = 1;
  double coverage = 1 - 2 * tail;
  while (2 * (rank + 1) <= sorted.size()) {
    log_term += std::log((count - static_cast<double>(rank - 1)) / static_cast<double>(rank));
    tail += std::exp(log_term);
    if (1 - 2 * tail < confidence) break;
    coverage = 1 - 2 * tail;
    ++rank;
  }
  return {.low = sorted[rank - 1], .high = sorted[sorted.size() - rank], .coverage = coverage};
}

double student_t_quantile(double confidence, double degrees) {
  return boost::math::quantile(boost::math::complement(boost::math::students_t(degrees), (1 - confidence) / 2));
}

Ratio paired_ratio(std::span<const double> x, std::span<const double> y, double confidence) {
  const std::size_t count = std::min(x.size(), y.size());
  std::vector<double> logs(count);
  double mean = 0;
  for (std::size_t i = 0; i < count; ++i) {
    logs[i] = std::log(x[i] / y[i]);
    mean += logs[i] / static_cast<double>(count);
  }
  double squares = 0;
  for (const double value : logs) squares += (value - mean) * (value - mean);
  const double standard_error = std::sqrt(squares / static_cast<double>(count - 1) / static_cast<double>(count));
  const double margin = student_t_quantile(confidence, static_cast<double>(count - 1)) * standard_error;
  return {.ratio = std::exp(mean),
          .interval = {.low = std::exp(mean - margin), .high = std::exp(mean + margin), .coverage = confidence}};
}

}  // namespace tunebook
