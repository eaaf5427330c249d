#include "core/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "core/random.h"

namespace tunebook {
namespace {

std::vector<double> one_to(int count) {
  std::vector<double> sample(static_cast<std::size_t>(count));
  std::iota(sample.begin(), sample.end(), 1.0);
  return sample;
}

TEST(Statistics, Median) {
  EXPECT_EQ(median(std::vector<double>{3}), 3);
  EXPECT_EQ(median(std::vector<double>{9, 1, 5}), 5);
  EXPECT_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median(std::vector<double>{2, 2, 2, 100}), 2);
}

// Ranks and coverages from the binomial distribution, as in tables of the sign test's intervals.
TEST(Statistics, MedianIntervalHasTheRanksOfTheTables) {
  struct Row {
    int count;
    double confidence;
    int low;
    double coverage;
  };
  for (const Row& row : {Row{1, 0.95, 1, 0.0}, Row{2, 0.95, 1, 0.5}, Row{5, 0.95, 1, 0.9375}, Row{6, 0.95, 1, 0.96875},
                         Row{9, 0.95, 2, 1 - 2 * 10.0 / 512}, Row{10, 0.95, 2, 1 - 2 * 11.0 / 1024}, Row{15, 0.95, 4, 0.96484375},
                         Row{20, 0.95, 6, 0.958610534667968750}, Row{20, 0.99, 4, 0.99742317199707031}, Row{11, 0.5, 4, 1 - 2 * 232.0 / 2048},
                         Row{100, 0.95, 40, 0.9647997997822952}}) {
    const Interval interval = median_interval(one_to(row.count), row.confidence);
    EXPECT_EQ(interval.low, row.low) << row.count;
    EXPECT_EQ(interval.high, row.count + 1 - row.low) << row.count;
    EXPECT_NEAR(interval.coverage, row.coverage, 1e-9) << row.count;
  }
}

TEST(Statistics, MedianIntervalCoverageFollowsFromTheCount) {
  EXPECT_EQ(median_interval_coverage(0), 0);
  EXPECT_EQ(median_interval_coverage(1), 0);
  EXPECT_NEAR(median_interval_coverage(3), 0.75, 1e-15);
  EXPECT_NEAR(median_interval_coverage(5), 0.9375, 1e-15);
  EXPECT_NEAR(median_interval_coverage(10), 1 - 2 * 11.0 / 1024, 1e-15);
  for (int count = 1; count < 300; ++count) {
    const double coverage = median_interval_coverage(static_cast<std::size_t>(count));
    EXPECT_EQ(coverage, median_interval(one_to(count)).coverage) << count;
    EXPECT_EQ(coverage >= 0.95, count >= 6) << count;
  }
}

TEST(Statistics, MedianIntervalOfAVeryLargeSample) {
  // 2^-n underflows here; the normal approximation gives n/2 - 1.96 * sqrt(n)/2 = 4902.
  const Interval interval = median_interval(one_to(10000));
  EXPECT_NEAR(interval.low, 4902, 1);
  EXPECT_EQ(interval.low + interval.high, 10001);
  EXPECT_GE(interval.coverage, 0.95);
  EXPECT_LT(interval.coverage, 0.952);
}

TEST(Statistics, MedianIntervalCoversAsOftenAsItSays) {
  Random random(7);
  constexpr int kRepeats = 4000;
  int covered = 0;
  double stated = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    std::vector<double> sample(15);
    for (double& x : sample) x = std::exp(random.normal());  // skewed, its median is 1
    const Interval interval = median_interval(sample);
    stated = interval.coverage;
    covered += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(covered) / kRepeats, stated, 5 * std::sqrt(stated * (1 - stated) / kRepeats));
}

TEST(Statistics, StudentQuantiles) {
  // For one degree tan(pi c / 2), for two c sqrt(2 / (1 - c^2)); the others from printed tables to their last digit.
  for (const double c : {0.5, 0.9, 0.95, 0.99, 0.999}) {
    EXPECT_NEAR(student_t_quantile(c, 1) / std::tan(std::acos(-1.0) * c / 2), 1, 1e-9);
    EXPECT_NEAR(student_t_quantile(c, 2), c * std::sqrt(2 / (1 - c * c)), 1e-6);
  }
  EXPECT_NEAR(student_t_quantile(0.95, 3), 3.182446, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.95, 4), 2.776445, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.95, 5), 2.570582, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.95, 10), 2.228139, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.95, 30), 2.042272, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.99, 5), 4.032143, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.90, 30), 1.697261, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.95, 1e7), 1.959964, 1e-6);
}

TEST(Statistics, PairedRatio) {
  const std::vector<double> y = {1, 2, 3, 4};
  const std::vector<double> twice = {2, 4, 6, 8};
  const Ratio exact = paired_ratio(twice, y);
  EXPECT_NEAR(exact.ratio, 2, 1e-12);
  EXPECT_NEAR(exact.interval.low, 2, 1e-12);
  EXPECT_NEAR(exact.interval.high, 2, 1e-12);

  // Logs 0 and 2 log(2): mean log(2), standard error log(2), t(0.95, 1) = 12.7062.
  const Ratio wide = paired_ratio(std::vector<double>{1, 4}, std::vector<double>{1, 1});
  EXPECT_NEAR(wide.ratio, 2, 1e-12);
  EXPECT_NEAR(std::log(wide.interval.high / 2), 12.7062047 * std::log(2.0), 1e-6);
  EXPECT_NEAR(std::log(wide.interval.low / 2), -12.7062047 * std::log(2.0), 1e-6);
  EXPECT_EQ(wide.interval.coverage, 0.95);
  EXPECT_NEAR(wide.p, 0.5, 1e-12) << "t = 1 with one degree of freedom";
  EXPECT_EQ(paired_ratio(y, y).p, 1);
  EXPECT_LT(paired_ratio(twice, std::vector<double>{1.01, 1.99, 3, 4}).p, 1e-3);

  const Ratio inverse = paired_ratio(std::vector<double>{1, 1}, std::vector<double>{1, 4});
  EXPECT_NEAR(inverse.ratio * wide.ratio, 1, 1e-12);
}

// Closed forms for one, two and four degrees; the others from SciPy 1.17.
TEST(Statistics, StudentTails) {
  for (const double t : {0.0, 0.5, 1.0, 3.0, 12.7062, 1e6}) {
    EXPECT_NEAR(student_t_two_sided(t, 1), 1 - 2 * std::atan(t) / std::acos(-1.0), 1e-12) << t;
    EXPECT_NEAR(student_t_two_sided(t, 2), 1 - t / std::sqrt(2 + t * t), 1e-12) << t;
    EXPECT_NEAR(student_t_two_sided(t, 4), 1 - t * (t * t + 6) / std::pow(t * t + 4, 1.5), 1e-12) << t;
    EXPECT_EQ(student_t_two_sided(t, 3), student_t_two_sided(-t, 3));
  }
  EXPECT_NEAR(student_t_two_sided(2.5, 4.7), 0.05759215934686732, 1e-12);
  EXPECT_NEAR(student_t_two_sided(6, 18), 1.1269971106007855e-05, 1e-16);
  EXPECT_NEAR(student_t_two_sided(40, 12.25), 2.3428902366172044e-14, 1e-25);
  EXPECT_NEAR(student_t_two_sided(1000, 1.5), 2.3848945646787014e-05, 1e-15);
  EXPECT_EQ(student_t_two_sided(INFINITY, 3), 0);
  for (const double degrees : {1.0, 1.37, 4.0, 9.3, 250.0}) {
    EXPECT_NEAR(student_t_two_sided(student_t_quantile(0.95, degrees), degrees), 0.05, 1e-12) << degrees;
  }
}

// What SciPy 1.17 says: ttest_ind(log(y), log(x), equal_var=False).
TEST(Statistics, WelchOnLogarithms) {
  const std::vector<double> x = {101.2, 99.8, 100.4, 100.9, 99.5, 100.1, 100.6, 99.9, 100.3, 100.0};
  const std::vector<double> y = {103.1, 104.2, 102.5, 103.9, 103.3};
  const auto welch = welch_ratio(x, y);
  ASSERT_TRUE(welch);
  EXPECT_NEAR(welch->ratio, 1.031210851408167, 1e-12);
  EXPECT_NEAR(welch->interval.low, 1.0230294644616305, 1e-12);
  EXPECT_NEAR(welch->interval.high, 1.0394576666680555, 1e-12);
  EXPECT_NEAR(welch->p, 4.939899092786982e-05, 1e-14);
  EXPECT_NEAR(welch->degrees, 6.663403270757324, 1e-9);

  const auto few = welch_ratio(std::vector<double>{10, 11}, std::vector<double>{10, 12, 14});
  ASSERT_TRUE(few);
  EXPECT_NEAR(few->ratio, 1.1334614430710501, 1e-12);
  EXPECT_NEAR(few->interval.low, 0.788888300283335, 1e-9);
  EXPECT_NEAR(few->interval.high, 1.6285383399237707, 1e-9);
  EXPECT_NEAR(few->p, 0.337657093410982, 1e-9);
  EXPECT_NEAR(few->degrees, 2.757849197168095, 1e-9);

  // Changing sides turns everything over, another unit changes nothing.
  const auto back = welch_ratio(y, x);
  EXPECT_NEAR(back->ratio * welch->ratio, 1, 1e-12);
  EXPECT_NEAR(back->interval.low * welch->interval.high, 1, 1e-12);
  EXPECT_NEAR(back->p, welch->p, 1e-15);
  std::vector<double> x_seconds = x, y_seconds = y;
  for (double& time : x_seconds) time *= 1e-6;
  for (double& time : y_seconds) time *= 1e-6;
  const auto seconds = welch_ratio(x_seconds, y_seconds);
  EXPECT_NEAR(seconds->p, welch->p, 1e-12);
  EXPECT_NEAR(seconds->ratio, welch->ratio, 1e-12);
}

TEST(Statistics, WelchWithoutSpread) {
  const std::vector<double> five(3, 5.0), more(7, 5.0), other(2, 5.5);
  const auto equal = welch_ratio(five, more);
  ASSERT_TRUE(equal);
  EXPECT_EQ(equal->ratio, 1);
  EXPECT_EQ(equal->p, 1);
  EXPECT_EQ(equal->interval.low, 1);
  EXPECT_EQ(equal->degrees, 8);
  const auto different = welch_ratio(five, other);
  EXPECT_NEAR(different->ratio, 1.1, 1e-15);
  EXPECT_EQ(different->p, 0);
  EXPECT_EQ(different->interval.low, different->interval.high);
  // Spread on one side alone: its degrees of freedom count.
  const auto one_sided = welch_ratio(five, std::vector<double>{5.2, 5.3, 5.25, 5.1});
  EXPECT_NEAR(one_sided->degrees, 3, 1e-12);
  EXPECT_NEAR(one_sided->p, 0.014955529523517688, 1e-12);
}

TEST(Statistics, WelchOfWhatIsNoSample) {
  const std::vector<double> good = {1, 2, 3};
  for (const std::vector<double>& bad : {std::vector<double>{}, {1}, {1, 0}, {1, -2}, {1, NAN}, {1, INFINITY}}) {
    EXPECT_FALSE(welch_ratio(good, bad));
    EXPECT_FALSE(welch_ratio(bad, good));
  }
  // The extremes of a double are samples.
  const auto extreme = welch_ratio(std::vector<double>{5e-324, 1e-300}, std::vector<double>{1e300, 1.7e308});
  ASSERT_TRUE(extreme);
  EXPECT_GT(extreme->p, 0);
  EXPECT_LT(extreme->p, 1);
}

TEST(Statistics, WelchRejectsAsOftenAsItSays) {
  Random random(11);
  constexpr int kRepeats = 20000;
  int rejected = 0, covered = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    std::vector<double> x(5), y(10);
    for (double& time : x) time = std::exp(0.03 * random.normal());
    for (double& time : y) time = std::exp(0.01 * random.normal());
    const auto welch = welch_ratio(x, y);
    rejected += welch->p < 0.05 ? 1 : 0;
    covered += welch->interval.low <= 1 && 1 <= welch->interval.high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(rejected) / kRepeats, 0.05, 0.006);  // Satterthwaite's degrees are an approximation
  EXPECT_EQ(rejected + covered, kRepeats);
}

TEST(Statistics, HolmAdjusts) {
  EXPECT_TRUE(holm_adjusted({}).empty());
  EXPECT_EQ(holm_adjusted(std::vector<double>{0.03}), (std::vector<double>{0.03}));
  // By hand: 4 * 0.005, 3 * 0.01, 2 * 0.03, and 0.04 raised to its predecessor.
  const std::vector<double> adjusted = holm_adjusted(std::vector<double>{0.01, 0.04, 0.03, 0.005});
  for (const auto& [got, expected] : {std::pair{adjusted[0], 0.03}, {adjusted[1], 0.06}, {adjusted[2], 0.06}, {adjusted[3], 0.02}}) {
    EXPECT_NEAR(got, expected, 1e-15);
  }
  EXPECT_EQ(holm_adjusted(std::vector<double>{0.9, 0.8, 0.0}), (std::vector<double>{1, 1, 0}));

  // Never below the p-value, never above Bonferroni's, in the same order; the smallest is Bonferroni's.
  Random random(5);
  std::vector<double> p(300);
  for (double& value : p) value = std::pow(random.uniform(), 4);
  const std::vector<double> many = holm_adjusted(p);
  for (std::size_t i = 0; i < p.size(); ++i) {
    EXPECT_GE(many[i], p[i]);
    EXPECT_LE(many[i], std::min(1.0, 300 * p[i]));
    for (std::size_t j = 0; j < i; ++j) {
      if (p[j] < p[i]) { EXPECT_LE(many[j], many[i]); }
    }
  }
  const auto least = std::min_element(p.begin(), p.end());
  EXPECT_EQ(many[static_cast<std::size_t>(least - p.begin())], std::min(1.0, 300 * *least));
}

}  // namespace
}  // namespace tunebook
