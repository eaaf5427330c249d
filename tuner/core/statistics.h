#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tunebook {

// Median of a non-empty sample (mean of the two middle ones for an even count).
double median(std::span<const double> sample);

struct Interval {
  double low = 0;
  double high = 0;
  double coverage = 0;  // the actual one; for few samples it is below the asked one
};

// Distribution-free confidence interval of the median from order statistics: the narrowest symmetric pair [x_(r), x_(n+1-r)]
// whose binomial coverage 1 - 2 P(B(n, 1/2) < r) is at least `confidence`; the whole range if none reaches it.
// (David & Nagaraja, Order Statistics, 3rd ed., section 7.1.) Non-empty sample.
Interval median_interval(std::span<const double> sample, double confidence = 0.95);

// Two-sided quantile of Student's t with `degrees` >= 1 degrees of freedom: P(|T| <= result) = confidence.
double student_t_quantile(double confidence, double degrees);

// exp of the mean of log(x_i / y_i) with its t interval: the ratio of two paired samples of positive times (same length >= 2).
struct Ratio {
  double ratio = 1;
  Interval interval;
};
Ratio paired_ratio(std::span<const double> x, std::span<const double> y, double confidence = 0.95);

}  // namespace tunebook
