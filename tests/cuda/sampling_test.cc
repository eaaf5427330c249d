// On a GPU: that times mean what they say. Messages of failures hold the numbers.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "core/statistics.h"
#include "cuda/buffer_copies.h"
#include "cuda/sampler.h"
#include "runner_fixture.h"

namespace tunebook {
namespace {

std::string describe(const std::string& name, const Timing& timing) {
  std::string text = name + ": " + std::to_string(timing.samples_us.size()) + " samples";
  if (!timing.samples_us.empty()) {
    const Interval interval = median_interval(timing.samples_us);
    text += ", median " + std::to_string(median(timing.samples_us)) + " us (" + std::to_string(interval.low) + " to " +
            std::to_string(interval.high) + ")";
  }
  text += ", " + std::to_string(timing.launches_per_sample) + " launches each, a launch costs " + std::to_string(timing.launch_us) + " us";
  if (timing.conditions.sm_clock_mhz) text += ", SM clock " + std::to_string(*timing.conditions.sm_clock_mhz) + " MHz";
  if (!timing.conditions.throttled.empty()) text += ", throttled: " + timing.conditions.throttled;
  if (timing.conditions.retaken_batches > 0) text += ", retaken " + std::to_string(timing.conditions.retaken_batches);
  if (timing.energy_j) text += ", energy " + std::to_string(*timing.energy_j * 1e3) + " mJ";
  return text + ", " + std::to_string(timing.seconds) + " s\n";
}

class Sampling : public RunnerTest {
 protected:
  // Of a good run; printed, so that a log of the tests is a record of what was measured.
  Timing timing_of(const std::string& name, const std::string& body, bool verified = true) {
    const RunReply reply = verified ? run(candidate(body), true) : time_only(candidate(body));
    EXPECT_EQ(reply.outcome, Outcome::ok) << name << ": " << reply.message;
    const Timing timing = reply.timing.value_or(Timing{{1}});
    std::cout << describe(name, timing);
    return timing;
  }

  RunReply time_only(const std::string& text) {
    RunRequest request;
    request.time = launch(compile(text, "k"), 0);
    request.timing = plan_;
    return runner_->run(request, stage());
  }

  // Every thread waits for so many cycles.
  static std::string spin(std::int64_t cycles) {
    return "const long long start = clock64(); while (clock64() - start < " + std::to_string(cycles) + ") {} if (i < n) c[i] = a[i] + b[i];";
  }
};

TEST_F(Sampling, BatchesOfAShortKernelAgreeWithOneLongKernel) {
  // One block a multiprocessor at most, so that the time is that of one thread.
  sizes_ = {256 * 8};
  set_up_problems();
  constexpr std::int64_t kCycles = 30000;
  constexpr int kLonger = 20;
  for (const CacheMode cache : {CacheMode::cold, CacheMode::warm}) {
    plan_.cache = cache;
    const Timing once = timing_of("spin 1x", spin(kCycles));
    const Timing twice = timing_of("spin 2x", spin(2 * kCycles));
    const Timing longer = timing_of("spin 20x", spin(kLonger * kCycles));
    EXPECT_GT(once.launches_per_sample, 1);
    EXPECT_GT(twice.launches_per_sample, 1);
    EXPECT_EQ(longer.launches_per_sample, 1);
    const double step_us = median(twice.samples_us) - median(once.samples_us);
    const double long_step_us = (median(longer.samples_us) - median(once.samples_us)) / (kLonger - 1);
    EXPECT_NEAR(step_us / long_step_us, 1, 0.05) << "one step in batches " << step_us << " us, in a long kernel " << long_step_us << " us";
    // What is left when the spinning is taken away: loads and stores, not the cost of a launch.
    const double rest_us = median(once.samples_us) - long_step_us;
    EXPECT_GT(rest_us, -1) << "of " << median(once.samples_us) << " us";
    EXPECT_LT(rest_us, 5) << "of " << median(once.samples_us) << " us";
    if (longer.conditions.sm_clock_mhz) {
      EXPECT_NEAR(long_step_us, static_cast<double>(kCycles) / *longer.conditions.sm_clock_mhz, 0.1 * long_step_us);
    }
  }
}

TEST_F(Sampling, EmptyKernelTakesLittleButNotNothing) {
  for (const CacheMode cache : {CacheMode::cold, CacheMode::warm}) {
    plan_.cache = cache;
    sizes_ = {1};
    set_up_problems();
    const Timing timing = timing_of("empty kernel", "", false);
    EXPECT_GE(*std::min_element(timing.samples_us.begin(), timing.samples_us.end()), Sampler::least_sample_us(timing.launches_per_sample));
    EXPECT_GT(Sampler::least_sample_us(timing.launches_per_sample), 0.005);
    EXPECT_LT(median(timing.samples_us), 1);
    EXPECT_EQ(timing.launches_per_sample, Batching::kMost);
  }
}

TEST_F(Sampling, CostOfALaunchIsPlausible) {
  sizes_ = {256};
  set_up_problems();
  const Timing batched = timing_of("batched", spin(20000));
  const Timing single = timing_of("single", spin(2000000));
  for (const Timing& timing : {batched, single}) {
    EXPECT_GT(timing.launch_us, 0.1);
    EXPECT_LT(timing.launch_us, 20);
  }
  EXPECT_GT(batched.launches_per_sample, 1);
  EXPECT_EQ(single.launches_per_sample, 1);
  EXPECT_LT(batched.launch_us, single.launch_us) << "the launches of a graph follow one another without events between them";
}

TEST_F(Sampling, WarmIsFasterThanColdWhereAllFitsL2) {
  const Timing cold = timing_of("cold", "if (i < n) c[i] = a[i] + b[i];");
  plan_.cache = CacheMode::warm;
  const Timing warm = timing_of("warm", "if (i < n) c[i] = a[i] + b[i];");
  EXPECT_LT(median(warm.samples_us), 0.9 * median(cold.samples_us));
}

// The kernel says itself (by a trap) when it meets the result of a launch before, or inputs that are none.
TEST_F(Sampling, InPlaceKernelsMeetFreshBuffersInEveryLaunchOfABatch) {
  restore_ = true;
  sizes_ = {1 << 16, 1023};
  set_up_problems(Argument::Access::inout, R"(
    extern "C" __global__ void reference(float* c, const float* a, const float* b, long long n) {
      const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
      if (i < n) c[i] += 10.f + a[i] + b[i];
    })");
  const std::string body = "if (i < n) { if (c[i] > 5.f || (a[i] == 0.f && b[i] == 0.f)) __trap(); c[i] += 10.f + a[i] + b[i]; }";
  for (const CacheMode cache : {CacheMode::cold, CacheMode::warm}) {
    plan_.cache = cache;
    const Timing timing = timing_of("in place", body);
    EXPECT_EQ(timing.launches_per_sample > 1, cache == CacheMode::cold);
    const RunReply after = run(candidate(body));
    EXPECT_EQ(after.outcome, Outcome::ok) << "right after timing: " << after.message;
  }
  // The trap does see it.
  restore_ = false;
  EXPECT_EQ(run(candidate(body), true).outcome, Outcome::fault);
}

TEST_F(Sampling, CopiesAreMadeAnewAfterAWildWrite) {
  const std::string body = "if (i < n) { if (a[i] == 0.f && b[i] == 0.f) __trap(); c[i] = a[i] + b[i]; }";
  timing_of("before", body);
  EXPECT_EQ(run(candidate("if (i < n) { c[i] = a[i] + b[i]; a[i] = 0.f; }")).outcome, Outcome::wrong_result);
  timing_of("after", body);
}

TEST_F(Sampling, ConditionsAreKnownWhereNvmlIs) {
  const Timing timing = timing_of("good", "if (i < n) c[i] = a[i] + b[i];");
  std::cout << "environment: " << hello_.environment.dump() << "\n";
  if (hello_.environment.contains("nvml")) GTEST_SKIP() << hello_.environment["nvml"];
  EXPECT_GT(timing.conditions.sm_clock_mhz.value_or(0), 100);
  EXPECT_GT(timing.conditions.memory_clock_mhz.value_or(0), 100);
  EXPECT_GT(timing.conditions.power_w.value_or(0), 1);
  EXPECT_GT(timing.conditions.temperature_c.value_or(0), 1);
  EXPECT_TRUE(hello_.environment.contains("max_sm_clock_mhz"));
}

TEST_F(Sampling, EnergyOfOneLaunch) {
  if (!hello_.environment.value("energy_counter", false)) GTEST_SKIP() << "this device does not count energy";
  plan_.energy_seconds = 1;
  const Timing timing = timing_of("good", "if (i < n) c[i] = a[i] + b[i];");
  ASSERT_TRUE(timing.energy_j.has_value());
  // Repeated back to back it is warm, so it may be faster than the time beside it.
  const double watts = *timing.energy_j / (median(timing.samples_us) * 1e-6);
  EXPECT_GT(watts, 10) << *timing.energy_j << " J";
  EXPECT_LT(watts, 3000) << *timing.energy_j << " J";
  plan_.energy_seconds = 0;
  EXPECT_FALSE(timing_of("without", "if (i < n) c[i] = a[i] + b[i];").energy_j.has_value());
}

TEST_F(Sampling, FinalistsAreBatchedAlike) {
  InterleaveRequest request;
  for (const std::int64_t cycles : {20000, 60000, 400000}) request.candidates.push_back(launch(compile(candidate(spin(cycles)), "k"), 3));
  request.samples = 9;
  const InterleaveReply reply = runner_->interleave(request, stage());
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  ASSERT_EQ(reply.timings.size(), 3u);
  for (const Timing& timing : reply.timings) {
    std::cout << describe("finalist", timing);
    EXPECT_EQ(timing.samples_us.size(), 9u);
    EXPECT_EQ(timing.method, "cold/2");
    EXPECT_GT(timing.launches_per_sample, 1);
    EXPECT_EQ(timing.launches_per_sample, reply.timings[0].launches_per_sample);
    EXPECT_EQ(timing.conditions.sm_clock_mhz.has_value(), !hello_.environment.contains("nvml"));
  }
  EXPECT_LT(median(reply.timings[0].samples_us), median(reply.timings[1].samples_us));
  EXPECT_LT(median(reply.timings[1].samples_us), median(reply.timings[2].samples_us));
}

TEST_F(Sampling, CopiesOfBuffersLeaveMostOfTheMemoryToOthers) {
  Stream stream;
  std::size_t free_bytes = 0, total_bytes = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  BufferCopies copies;
  const std::vector<BufferCopies::Source> sources = {{free_bytes / 16, nullptr}};
  EXPECT_EQ(copies.ensure(2, sources, stream.get()), 2);
  const std::int64_t most = copies.ensure(64, sources, stream.get());
  EXPECT_GE(most, 3);
  EXPECT_LE(most, 4);
  EXPECT_NE(copies.address(0, 0), copies.address(1, 0));
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
}

}  // namespace
}  // namespace tunebook
