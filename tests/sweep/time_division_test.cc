// How the time that is left is divided.
#include "sweep/time_division.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

TEST(TimeDivision, EnoughForAllLeavesTheRestToTheFirst) {
  const std::vector<double> limits = divide_time(1000, {{100, 1}, {40, 5}, {20, 1}});
  EXPECT_DOUBLE_EQ(limits[1], 50);
  EXPECT_DOUBLE_EQ(limits[2], 25);
  EXPECT_DOUBLE_EQ(limits[0], 925);
}

TEST(TimeDivision, TooLittleGoesByWorth) {
  // Both would take all; one is worth three times the other. Each has 5 s in any case, and 60 s are shared.
  const std::vector<double> limits = divide_time(70, {{1000, 3}, {1000, 1}});
  EXPECT_DOUBLE_EQ(limits[0], 5 + 45);
  EXPECT_DOUBLE_EQ(limits[1], 5 + 15);
}

TEST(TimeDivision, NobodyGetsMoreThanItNeedsWhileOthersLack) {
  const std::vector<double> limits = divide_time(100, {{8, 1000}, {1000, 1}, {1000, 1}});
  EXPECT_DOUBLE_EQ(limits[0], 10);
  EXPECT_DOUBLE_EQ(limits[1], 45);
  EXPECT_DOUBLE_EQ(limits[2], 45);
}

TEST(TimeDivision, TheLastOnesGetNothingBeforeAllGetTooLittle) {
  const std::vector<double> limits = divide_time(12, {{100, 1}, {100, 1}, {100, 1}, {100, 1}});
  EXPECT_DOUBLE_EQ(limits[0], 6);
  EXPECT_DOUBLE_EQ(limits[1], 6);
  EXPECT_EQ(limits[2], 0);
  EXPECT_EQ(limits[3], 0);
}

TEST(TimeDivision, AShortOneFitsWhereALongOneDoesNot) {
  const std::vector<double> limits = divide_time(4, {{100, 1}, {2, 1}});
  EXPECT_EQ(limits[0], 0);
  EXPECT_DOUBLE_EQ(limits[1], 2.5);
}

TEST(TimeDivision, NothingLeftIsNothing) {
  EXPECT_TRUE(divide_time(10, {}).empty());
  for (const double left : {0.0, -5.0}) EXPECT_EQ(sum(divide_time(left, {{10, 1}, {1, 1}})), 0) << left;
}

TEST(TimeDivision, PropertiesOfRandomDivisions) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<TimeClaim> claims(1 + random() % 30);
    for (TimeClaim& claim : claims) claim = {300 * unit(random) * unit(random), random() % 4 == 0 ? 0 : unit(random)};
    const double left = 3000 * unit(random) * unit(random);
    const std::vector<double> limits = divide_time(left, claims);
    ASSERT_EQ(limits.size(), claims.size());
    ASSERT_LE(sum(limits), left * (1 + 1e-9));
    double wanted = 0;
    for (const TimeClaim& claim : claims) wanted += 1.25 * claim.seconds;
    bool all = true;
    for (std::size_t i = 0; i < limits.size(); ++i) {
      const double need = 1.25 * claims[i].seconds;
      if (i > 0 || wanted > left) {
        ASSERT_LE(limits[i], need * (1 + 1e-9));
      }
      // Either enough to be of use, or nothing.
      if (limits[i] > 0) {
        ASSERT_GE(limits[i], std::min(need, kLeastSessionSeconds) * (1 - 1e-9));
      }
      all = all && (limits[i] > 0 || need == 0);
    }
    // Nothing is kept back from those that need more.
    if (wanted > left && all) {
      ASSERT_NEAR(sum(limits), left, 1e-6 * left);
    }
  }
}

}  // namespace
}  // namespace tunebook
