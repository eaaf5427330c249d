#include "cuda/batching.h"

#include <gtest/gtest.h>

#include "worker/method.h"

namespace tunebook {
namespace {

TEST(Batching, BatchesOfShortKernelsLastAbout200Us) {
  for (double once_us = 4; once_us < Batching::kShortUs; once_us *= 1.07) {
    const std::int64_t launches = Batching().launches_for(once_us);
    EXPECT_EQ(launches, power_of_two_within(launches)) << once_us;
    EXPECT_GT(static_cast<double>(launches) * once_us, Batching::kBatchUs / 1.5) << once_us;
    EXPECT_LT(static_cast<double>(launches) * once_us, Batching::kBatchUs * 1.5) << once_us;
  }
}

TEST(Batching, HasBounds) {
  EXPECT_EQ(Batching().launches_for(0.01), Batching::kMost);
  EXPECT_EQ(Batching().launches_for(0), Batching::kMost);
  EXPECT_EQ(Batching().launches_for(Batching::kShortUs), 1);
  EXPECT_EQ(Batching().launches_for(1e6), 1);
}

TEST(Batching, OnceAKernelWasShortOthersOfSimilarSpeedAreBatchedToo) {
  Batching batching;
  EXPECT_EQ(batching.launches_for(100), 1);
  EXPECT_EQ(batching.launches_for(60), 4);
  EXPECT_EQ(batching.launches_for(100), 2);
  EXPECT_EQ(batching.launches_for(149), 2);
  EXPECT_EQ(batching.launches_for(Batching::kLongUs), 1);
}

TEST(Batching, PowersOfTwo) {
  EXPECT_EQ(power_of_two_within(0), 1);
  EXPECT_EQ(power_of_two_within(1), 1);
  EXPECT_EQ(power_of_two_within(3), 2);
  EXPECT_EQ(power_of_two_within(64), 64);
}

TEST(Method, SaysHowATimeWasTaken) {
  EXPECT_EQ(timing_method("cuda", CacheMode::cold), "cold/2");
  EXPECT_EQ(timing_method("cuda", CacheMode::warm, 1500), "warm/2@1500MHz");
  EXPECT_EQ(timing_method("cpu", CacheMode::cold), "cold/cpu1");
}

}  // namespace
}  // namespace tunebook
