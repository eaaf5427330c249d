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

// Interval::coverage of median_interval() for a sample of `count` values, which it depends on alone: 0.75 for three, 0.9375 for five;
// 0 for one, which has no interval, and for none.
double median_interval_coverage(std::size_t count, double confidence = 0.95);

// Two-sided quantile of Student's t with `degrees` >= 1 degrees of freedom: P(|T| <= result) = confidence.
double student_t_quantile(double confidence, double degrees);

// Two-sided tail of Student's t with `degrees` > 0 degrees of freedom: P(|T| >= |t|), which is the regularised incomplete beta
// function I_x(degrees / 2, 1 / 2) at x = degrees / (degrees + t^2). `t` may be infinite (0), but is a number.
double student_t_two_sided(double t, double degrees);

// exp of the mean of log(x_i / y_i) with its t interval: the ratio of two paired samples of positive times (same length >= 2).
struct Ratio {
  double ratio = 1;
  Interval interval;
  double p = 1;              // two-sided, that the ratio is 1; without any spread 1 if it is, else 0
};
Ratio paired_ratio(std::span<const double> x, std::span<const double> y, double confidence = 0.95);

// Two independent samples of positive times compared on the scale of their logarithms.
struct WelchRatio {
  double ratio = 1;          // geometric mean of `y` over that of `x`
  Interval interval;         // of it
  double p = 1;              // two-sided, that the geometric means are equal
  double degrees = 0;        // of freedom
};
// Welch's t test on logarithms: variances may differ, degrees of freedom after Satterthwaite. (B. L. Welch, Biometrika 34, 1947.)
// Nothing if either sample has fewer than two values or one that is not a positive, finite number. Without any spread the interval
// is a point, and p is 1 if the means are equal and else 0.
std::optional<WelchRatio> welch_ratio(std::span<const double> x, std::span<const double> y, double confidence = 0.95);

// p-values of a family of tests, adjusted so that rejecting those below alpha keeps the probability of any false rejection below
// alpha whatever their dependence: the i-th smallest of m times m + 1 - i, at least its predecessor, at most 1. Same order as given.
// (S. Holm, Scandinavian Journal of Statistics 6, 1979.)
std::vector<double> holm_adjusted(std::span<const double> p);

}  // namespace tunebook
