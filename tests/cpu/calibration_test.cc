#include "cpu/calibration.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/calibration_kernels.h"
#include "cpu/cpu_runner.h"

namespace tunebook {
namespace {

TEST(CpuCalibration, GivesEachBandwidthAtEachSizeAndTheArithmeticPeaks) {
  CpuRunner runner(2);
  if (!runner.hello().error.empty()) GTEST_SKIP() << runner.hello().error;
  CalibrateRequest request;
  request.id = 7;
  request.bytes = {1 << 16, 1 << 20};
  std::vector<std::string> stages;
  const CalibrateReply reply = runner.calibrate(request, [&](const std::string& stage) { stages.push_back(stage); });
  EXPECT_EQ(reply.id, 7);
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  std::set<std::string> found;
  for (const Ceiling& ceiling : reply.ceilings) {
    found.insert(ceiling.what + " " + std::to_string(ceiling.bytes));
    EXPECT_EQ(ceiling.method, "cold/cpu1");
    EXPECT_GT(ceiling.rate, 0) << ceiling.what;
    EXPECT_GT(ceiling.low, 0);
    EXPECT_LE(ceiling.low, ceiling.rate);
    EXPECT_LE(ceiling.rate, ceiling.high);
  }
  EXPECT_EQ(found, (std::set<std::string>{"copy 65536", "read 65536", "write 65536", "copy 1048576", "read 1048576", "write 1048576",
                                          "fma_f32 0", "fma_f64 0"}));
  EXPECT_EQ(stages.size(), found.size());
}

TEST(CpuCalibration, WarmIsAnotherMethodAndArithmeticMayBeLeftOut) {
  CpuRunner runner(1);
  if (!runner.hello().error.empty()) GTEST_SKIP() << runner.hello().error;
  CalibrateRequest request;
  request.cache = CacheMode::warm;
  request.bytes = {1 << 16};
  request.arithmetic = false;
  const CalibrateReply reply = runner.calibrate(request, [](const std::string&) {});
  ASSERT_EQ(reply.ceilings.size(), 3U);
  EXPECT_EQ(reply.ceilings.front().method, "warm/cpu1");
}

TEST(CpuCalibration, TheLoopsDoWhatTheyCount) {
  const std::vector<std::uint64_t> words = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(sum_words(words.data(), words.size()), 36U);
  // Twice the steps are twice the operations; at least 4 lanes and 10 chains of two operations each.
  EXPECT_EQ(multiply_add_f32(200, 0.5F, 0.5F), 2 * multiply_add_f32(100, 0.5F, 0.5F));
  EXPECT_GE(multiply_add_f32(1, 0.5F, 0.5F), 80);
  EXPECT_EQ(multiply_add_f32(1, 0.5F, 0.5F), 2 * multiply_add_f64(1, 0.5, 0.5));
}

}  // namespace
}  // namespace tunebook
