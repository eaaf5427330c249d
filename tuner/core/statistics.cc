#include "core/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

// Of the order statistic that begins the interval of the median, from 1, and how much the interval covers.
struct MedianRank {
  std::size_t rank = 1;
  double coverage = 0;
};

MedianRank median_rank(std::size_t size, double confidence) {
  const auto count = static_cast<double>(size);
  // The tail P(B(n, 1/2) < r) is summed term by term; a term is kept as its logarithm because 2^-n underflows from n = 1075 on.
  double log_term = -count * std::log(2.0);  // P(B = 0)
  double tail = std::exp(log_term);          // P(B < 1)
  MedianRank found{1, 1 - 2 * tail};
  while (2 * (found.rank + 1) <= size) {
    log_term += std::log((count - static_cast<double>(found.rank - 1)) / static_cast<double>(found.rank));
    tail += std::exp(log_term);
    if (1 - 2 * tail < confidence) break;
    found.coverage = 1 - 2 * tail;
    ++found.rank;
  }
  return found;
}

// Of the logarithms of times.
struct Moments {
  double mean = 0;
  double variance_of_mean = 0;  // the sample's variance over its size
};

std::optional<Moments> log_moments(std::span<const double> times) {
  if (times.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(times.size());
  // From the first one, so that equal times have no spread at all.
  const double first = std::log(times.front());
  double sum = 0, squares = 0;
  for (const double time : times) {
    if (!std::isfinite(time) || time <= 0) return std::nullopt;
    sum += std::log(time) - first;
  }
  Moments moments{.mean = first + sum / count};
  for (const double time : times) squares += std::pow((std::log(time) - first) - sum / count, 2);
  moments.variance_of_mean = squares / (count - 1) / count;
  return moments;
}

}  // namespace

// By selection: a report takes medians of millions of times.
double median(std::span<const double> sample) {
  std::vector<double> values(sample.begin(), sample.end());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double pair[] = {*std::max_element(values.begin(), middle), *middle};
  return median_of_sorted(pair);
}

Interval median_interval(std::span<const double> sample, double confidence) {
  const std::vector<double> sorted = sorted_copy(sample);
  const MedianRank rank = median_rank(sorted.size(), confidence);
  return {.low = sorted[rank.rank - 1], .high = sorted[sorted.size() - rank.rank], .coverage = rank.coverage};
}

double median_interval_coverage(std::size_t count, double confidence) { return count == 0 ? 0 : median_rank(count, confidence).coverage; }

double student_t_quantile(double confidence, double degrees) {
  return boost::math::quantile(boost::math::complement(boost::math::students_t(degrees), (1 - confidence) / 2));
}

double student_t_two_sided(double t, double degrees) {
  if (std::isinf(t)) return 0;
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(degrees), std::abs(t)));
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
  const double p = standard_error > 0 ? student_t_two_sided(mean / standard_error, static_cast<double>(count - 1)) : mean == 0 ? 1 : 0;
  return {.ratio = std::exp(mean),
          .interval = {.low = std::exp(mean - margin), .high = std::exp(mean + margin), .coverage = confidence},
          .p = p};
}

std::optional<WelchRatio> welch_ratio(std::span<const double> x, std::span<const double> y, double confidence) {
  const std::optional<Moments> of_x = log_moments(x), of_y = log_moments(y);
  if (!of_x || !of_y) return std::nullopt;
  const double difference = of_y->mean - of_x->mean;
  const double variance = of_x->variance_of_mean + of_y->variance_of_mean;
  const double free_x = static_cast<double>(x.size() - 1), free_y = static_cast<double>(y.size() - 1);
  WelchRatio result;
  result.ratio = std::exp(difference);
  if (variance <= 0) {
    result.degrees = free_x + free_y;
    result.p = difference == 0 ? 1 : 0;
    result.interval = {.low = result.ratio, .high = result.ratio, .coverage = confidence};
    return result;
  }
  // Shares of the variance, since its square may underflow.
  const double share_x = of_x->variance_of_mean / variance, share_y = of_y->variance_of_mean / variance;
  result.degrees = 1 / (share_x * share_x / free_x + share_y * share_y / free_y);
  const double standard_error = std::sqrt(variance);
  result.p = student_t_two_sided(difference / standard_error, result.degrees);
  const double margin = student_t_quantile(confidence, result.degrees) * standard_error;
  result.interval = {.low = std::exp(difference - margin), .high = std::exp(difference + margin), .coverage = confidence};
  return result;
}

std::vector<double> holm_adjusted(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(largest, std::min(1.0, p[order[rank]] * static_cast<double>(order.size() - rank)));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

}  // namespace tunebook
