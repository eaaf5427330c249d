#include "core/ceiling.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

Ceiling transfer(const std::string& what, std::int64_t bytes, double rate, const std::string& method = "cold/2") {
  return {what, bytes, method, rate, 0.99 * rate, 1.01 * rate};
}
Ceiling peak(const std::string& what, double rate) { return {what, 0, "cold/2", rate, rate, rate}; }

// Sizes and rates so that interpolation is exact: from 1000 to 3000 GB/s over a factor of 16.
const std::vector<Ceiling> kCeilings = {
    transfer("copy", 16 << 20, 3000), transfer("copy", 1 << 20, 1000),
    transfer("read", 1 << 20, 500),   transfer("read", 16 << 20, 3500),
    transfer("copy", 1 << 20, 9000, "warm/2"),
    peak("fma_f32", 60e3),            peak("fma_f64", 30e3),   peak("fma_f16", 90e3),
    peak("mma_f16", 600e3),           peak("mma_bf16", 500e3), peak("mma_tf32", 300e3), peak("mma_f64", 50e3)};

Workload work(double flops, double bytes, const std::string& dtype = "f32", const std::string& math = "") { return {flops, bytes, dtype, math}; }

TEST(Ceilings, BandwidthIsTheLargestAtTheSize) {
  const auto small = bandwidth_ceiling(kCeilings, 1 << 20, "cold/2");
  ASSERT_TRUE(small);
  EXPECT_EQ(small->what, "copy");
  EXPECT_EQ(small->rate, 1000);
  EXPECT_DOUBLE_EQ(small->floor_us, 1048576 / 1e6);  // bytes / (1000 GB/s = 1e6 bytes/us)
  const auto large = bandwidth_ceiling(kCeilings, 16 << 20, "cold/2");
  ASSERT_TRUE(large);
  EXPECT_EQ(large->what, "read");
  EXPECT_EQ(large->rate, 3500);
  EXPECT_TRUE(large->bandwidth);
}

TEST(Ceilings, BandwidthIsInterpolatedInTheLogarithmOfTheSize) {
  // 4 MiB is half-way between 1 and 16: copy 2000, read 2000; 2 MiB is a quarter: copy 1500, read 1250.
  EXPECT_NEAR(bandwidth_ceiling(kCeilings, 4 << 20, "cold/2")->rate, 2000, 1e-9);
  const auto quarter = bandwidth_ceiling(kCeilings, 2 << 20, "cold/2");
  EXPECT_NEAR(quarter->rate, 1500, 1e-9);
  EXPECT_EQ(quarter->what, "copy");
}

TEST(Ceilings, OutsideTheMeasuredSizesTheNearestCounts) {
  EXPECT_EQ(bandwidth_ceiling(kCeilings, 1, "cold/2")->rate, 1000);
  EXPECT_EQ(bandwidth_ceiling(kCeilings, 1e12, "cold/2")->rate, 3500);
}

TEST(Ceilings, AnotherMethodIsAnotherCeiling) {
  EXPECT_EQ(bandwidth_ceiling(kCeilings, 1 << 20, "warm/2")->rate, 9000);
  EXPECT_FALSE(bandwidth_ceiling(kCeilings, 1 << 20, "cold/1"));
  EXPECT_FALSE(binding_ceiling(kCeilings, work(1e9, 1e6), "cold/1"));
  EXPECT_EQ(floor_violation(kCeilings, work(1e15, 1e12), "cold/1", 1, kFloorShare), "");
}

TEST(Ceilings, ArithmeticByTypeAndMode) {
  const auto what = [](const std::string& dtype, const std::string& math) {
    const auto found = arithmetic_ceiling(kCeilings, work(1, 0, dtype, math), "cold/2");
    return found ? found->what : "none";
  };
  EXPECT_EQ(what("f32", ""), "fma_f32");
  EXPECT_EQ(what("", ""), "fma_f32");
  EXPECT_EQ(what("f32", "ieee"), "fma_f32");
  EXPECT_EQ(what("f32", "tensor"), "mma_tf32");
  EXPECT_EQ(what("f64", ""), "mma_f64");
  EXPECT_EQ(what("f64", "ieee"), "fma_f64");
  EXPECT_EQ(what("f16", ""), "mma_f16");
  EXPECT_EQ(what("f16", "ieee"), "fma_f16");
  EXPECT_EQ(what("f16", "tensor"), "mma_f16");
  EXPECT_EQ(what("bf16", ""), "mma_bf16");
  EXPECT_EQ(what("bf16", "ieee"), "fma_f32");
  EXPECT_EQ(what("i32", ""), "none");
}

TEST(Ceilings, TheLongerFloorBinds) {
  // 60e3 GFLOP/s are 6e7 operations/us; 16 MiB at 3500 GB/s take 4.79 us.
  const auto arithmetic = binding_ceiling(kCeilings, work(6e8, 16 << 20), "cold/2");
  ASSERT_TRUE(arithmetic);
  EXPECT_EQ(arithmetic->what, "fma_f32");
  EXPECT_FALSE(arithmetic->bandwidth);
  EXPECT_DOUBLE_EQ(arithmetic->floor_us, 10);
  EXPECT_DOUBLE_EQ(arithmetic->percent(12.5), 80);
  const auto bandwidth = binding_ceiling(kCeilings, work(6e7, 16 << 20), "cold/2");
  ASSERT_TRUE(bandwidth);
  EXPECT_EQ(bandwidth->what, "read");
  EXPECT_NEAR(bandwidth->floor_us, 16777216 / 3.5e6, 1e-9);
  EXPECT_FALSE(binding_ceiling(kCeilings, work(0, 0), "cold/2"));
  EXPECT_EQ(binding_ceiling(kCeilings, work(6e8, 0), "cold/2")->what, "fma_f32");
}

TEST(Ceilings, ATimeBelowTheFloorIsNamed) {
  // Between 1 and 16 MiB the larger of the two upper ends counts: 1.01 * 3500 GB/s.
  const auto floor = physical_floor(kCeilings, work(0, 8 << 20), "cold/2");
  ASSERT_TRUE(floor);
  EXPECT_NEAR(floor->rate, 3535, 1e-9);
  // 160 MiB at 3535 GB/s: 47.46 us; 0.9 of it less the slack: 41.7 us.
  const Workload large = work(0, 160 << 20);
  EXPECT_EQ(floor_violation(kCeilings, large, "cold/2", 41.8, kFloorShare), "");
  const std::string message = floor_violation(kCeilings, large, "cold/2", 41.6, kFloorShare);
  EXPECT_NE(message.find("41.600 us"), std::string::npos) << message;
  EXPECT_NE(message.find("at least 47.460 us at 3535 GB/s (read, cold/2)"), std::string::npos) << message;
}

TEST(Ceilings, ShortTimesAreNotCondemnedByWhatTheClockCannotTell) {
  EXPECT_EQ(floor_violation(kCeilings, work(0, 12), "cold/2", 0, kFloorShare), "");
  EXPECT_EQ(floor_violation(kCeilings, work(0, 1 << 20), "cold/2", 0, kFloorShare), "");  // floor 1.04 us
}

TEST(Ceilings, TensorCoresAreAllowedForUnlessTheModeExcludesThem) {
  // 6e10 operations: 1000 us on the FMA units, 50 us at twice what mma.sync reaches in f16.
  EXPECT_EQ(floor_violation(kCeilings, work(6e10, 0), "cold/2", 60, kFloorShare), "");
  EXPECT_NE(floor_violation(kCeilings, work(6e10, 0), "cold/2", 40, kFloorShare), "");
  EXPECT_NE(floor_violation(kCeilings, work(6e10, 0, "f32", "ieee"), "cold/2", 898, kFloorShare), "");
  EXPECT_EQ(floor_violation(kCeilings, work(6e10, 0, "f32", "ieee"), "cold/2", 900, kFloorShare), "");
  EXPECT_EQ(floor_violation(kCeilings, work(6e10, 0, "i32"), "cold/2", 0, kFloorShare), "");
}

}  // namespace
}  // namespace tunebook
