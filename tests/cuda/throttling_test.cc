#include "cuda/throttling.h"

#include <gtest/gtest.h>

namespace tunebook {
namespace {

TEST(RetakePolicy, KeepsWhatIsNotThrottled) {
  RetakePolicy policy;
  policy.begin(1);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(policy.retake(false, 0.01));
}

TEST(RetakePolicy, RetakesAFewTimesAndThenKeepsWhatThereIs) {
  RetakePolicy policy;
  policy.begin(1);
  for (int i = 0; i < RetakePolicy::kMostRetakes; ++i) EXPECT_TRUE(policy.retake(true, 0.01));
  EXPECT_FALSE(policy.retake(true, 0.01));
}

TEST(RetakePolicy, RetakingHasAShareOfTheTime) {
  RetakePolicy policy;
  policy.begin(1);
  EXPECT_TRUE(policy.retake(true, 0.2));
  EXPECT_FALSE(policy.retake(true, 0.2));
  policy.begin(0.1);
  EXPECT_FALSE(policy.retake(true, 0.2));
}

TEST(RetakePolicy, GivesUpOnADeviceThatIsAlwaysThrottled) {
  RetakePolicy policy;
  int retaken = 0;
  for (int measurement = 0; measurement < 20; ++measurement) {
    policy.begin(1);
    while (policy.retake(true, 0.001)) ++retaken;
  }
  EXPECT_GE(retaken, RetakePolicy::kMostRetakes);
  EXPECT_LE(retaken, RetakePolicy::kHopelessInARow);
  // One batch at full speed, and it is worth trying again.
  policy.begin(1);
  EXPECT_FALSE(policy.retake(false, 0.001));
  EXPECT_TRUE(policy.retake(true, 0.001));
}

TEST(ConditionsLog, MediansAndAllReasons) {
  ConditionsLog log;
  log.keep({1900, 3200, 40, 300, 0x1});
  log.keep({1500, std::nullopt, 60, 700, 0x4});
  log.keep({1800, 3000, 50, 600, 0x20});
  log.retaken();
  const Conditions conditions = log.conditions();
  EXPECT_EQ(conditions.sm_clock_mhz, 1800);
  EXPECT_EQ(conditions.memory_clock_mhz, 3100);
  EXPECT_EQ(conditions.temperature_c, 50);
  EXPECT_EQ(conditions.power_w, 600);
  EXPECT_EQ(conditions.throttled, "power cap, thermal");
  EXPECT_EQ(conditions.retaken_batches, 1);
}

TEST(ConditionsLog, NothingReadIsEmpty) {
  const Conditions conditions = ConditionsLog().conditions();
  EXPECT_FALSE(conditions.sm_clock_mhz || conditions.memory_clock_mhz || conditions.temperature_c || conditions.power_w);
  EXPECT_EQ(conditions.throttled, "");
}

}  // namespace
}  // namespace tunebook
