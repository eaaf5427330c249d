// When a winner counts as slower than the one before it.
#include "sweep/regression.h"

#include <gtest/gtest.h>

namespace tunebook {
namespace {

TEST(Regression, OneMeasurementEachByTwoPercent) {
  EXPECT_FALSE(slower_than_before({100}, {101.9}));
  const auto slowdown = slower_than_before({100}, {103});
  ASSERT_TRUE(slowdown);
  EXPECT_DOUBLE_EQ(slowdown->ratio, 1.03);
  EXPECT_DOUBLE_EQ(slowdown->allowed, 1.02);
}

TEST(Regression, FasterIsNone) { EXPECT_FALSE(slower_than_before({100, 101, 99}, {80, 81, 79})); }

TEST(Regression, SteadyTimesNeedTwoPercentOnly) {
  EXPECT_FALSE(slower_than_before({100, 100.1, 99.9, 100, 100.1}, {101.5, 101.4, 101.6, 101.5, 101.5}));
  EXPECT_TRUE(slower_than_before({100, 100.1, 99.9, 100, 100.1}, {102.5, 102.4, 102.6, 102.5, 102.5}));
}

TEST(Regression, NoisyTimesNeedMore) {
  const std::vector<double> before = {90, 110, 100, 95, 105}, now = {95, 115, 105, 100, 110};
  EXPECT_FALSE(slower_than_before(before, now));
  std::vector<double> twice;
  for (const double value : now) twice.push_back(2 * value);
  const auto slowdown = slower_than_before(before, twice);
  ASSERT_TRUE(slowdown);
  EXPECT_GT(slowdown->allowed, 1.05);
}

TEST(Regression, NothingToCompare) {
  EXPECT_FALSE(slower_than_before({}, {100}));
  EXPECT_FALSE(slower_than_before({100}, {}));
}

}  // namespace
}  // namespace tunebook
