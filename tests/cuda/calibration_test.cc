// On a GPU: every ceiling is measured, by the sampler's method, and what a Hopper GPU surely reaches is reached.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cuda/cuda_backend.h"
#include "worker/method.h"

namespace tunebook {
namespace {

const Ceiling* find(const std::vector<Ceiling>& ceilings, const std::string& what, std::int64_t bytes) {
  const auto found = std::find_if(ceilings.begin(), ceilings.end(),
                                  [&](const Ceiling& ceiling) { return ceiling.what == what && ceiling.bytes == bytes; });
  return found == ceilings.end() ? nullptr : &*found;
}

class Calibration : public ::testing::TestWithParam<CacheMode> {};

TEST_P(Calibration, MeasuresEverythingByTheMethodOfCandidates) {
  const auto runner = make_cuda_runner("cuda:0");
  const Hello hello = runner->hello();
  if (!hello.error.empty()) GTEST_SKIP() << "no GPU: " << hello.error;
  CalibrateRequest request;
  request.cache = GetParam();
  request.bytes = {std::int64_t{64} << 10, std::int64_t{16} << 20, std::int64_t{1} << 30};
  std::vector<std::string> stages;
  const CalibrateReply reply = runner->calibrate(request, [&](const std::string& stage) { stages.push_back(stage); });
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  for (const Ceiling& ceiling : reply.ceilings) {
    EXPECT_EQ(ceiling.method, timing_method("cuda", GetParam()));
    EXPECT_GT(ceiling.low, 0) << ceiling.what << ' ' << ceiling.bytes;
    EXPECT_LE(ceiling.low, ceiling.rate) << ceiling.what << ' ' << ceiling.bytes;
    EXPECT_LE(ceiling.rate, ceiling.high) << ceiling.what << ' ' << ceiling.bytes;
    RecordProperty(ceiling.what + "_" + std::to_string(ceiling.bytes), std::to_string(ceiling.rate));
  }
  EXPECT_EQ(stages.size(), reply.ceilings.size());
  for (const char* what : {"copy", "read", "write"}) {
    for (const std::int64_t bytes : request.bytes) ASSERT_NE(find(reply.ceilings, what, bytes), nullptr) << what << ' ' << bytes;
    EXPECT_GT(find(reply.ceilings, what, request.bytes[1])->rate, find(reply.ceilings, what, request.bytes[0])->rate) << what;
  }
  for (const char* what : {"fma_f32", "fma_f64", "fma_f16"}) ASSERT_NE(find(reply.ceilings, what, 0), nullptr) << what;
  if (hello.device->compute_capability != 90 || hello.device->sm_count < 100) return;
  EXPECT_GT(find(reply.ceilings, "copy", request.bytes[2])->rate, 1000);
  EXPECT_LT(find(reply.ceilings, "copy", request.bytes[2])->rate, 10000);
  EXPECT_GT(find(reply.ceilings, "fma_f32", 0)->rate, 10e3);
  EXPECT_LT(find(reply.ceilings, "fma_f32", 0)->rate, 100e3);
  for (const char* what : {"mma_f16", "mma_bf16", "mma_tf32", "mma_f64"}) ASSERT_NE(find(reply.ceilings, what, 0), nullptr) << what;
  EXPECT_GT(find(reply.ceilings, "mma_f16", 0)->rate, 2 * find(reply.ceilings, "fma_f32", 0)->rate);
  EXPECT_GT(find(reply.ceilings, "mma_f16", 0)->rate, find(reply.ceilings, "mma_tf32", 0)->rate);
  EXPECT_GT(find(reply.ceilings, "mma_f64", 0)->rate, find(reply.ceilings, "fma_f64", 0)->rate);
}

INSTANTIATE_TEST_SUITE_P(ColdAndWarm, Calibration, ::testing::Values(CacheMode::cold, CacheMode::warm),
                         [](const auto& test) { return test.param == CacheMode::cold ? "cold" : "warm"; });

}  // namespace
}  // namespace tunebook
