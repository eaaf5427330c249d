#include "core/statistics.h"

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

  const Ratio inverse = paired_ratio(std::vector<double>{1, 1}, std::vector<double>{1, 4});
  EXPECT_NEAR(inverse.ratio * wide.ratio, 1, 1e-12);
}

}  // namespace
}  // namespace tunebook
