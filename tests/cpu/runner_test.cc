#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernel_fixture.h"

namespace tunebook::test {
namespace {

constexpr const char* kSource = R"(
template <int WORK>
__global__ void increment(int* data, const int* by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  volatile int waste = 0;
  for (int w = 0; w < WORK; ++w) waste = waste + w;
  data[i] += by[i];
})";
constexpr std::int64_t kCount = 4096;

ProblemSetup in_place_problem(std::int64_t id) {
  ProblemSetup problem;
  problem.problem = id;
  problem.display = "n=4096";
  ArgumentSetup data;
  data.name = "data";
  data.dtype = DType::i32;
  data.pointer = true;
  data.count = kCount;
  data.access = Argument::Access::inout;
  data.fill.kind = Fill::Kind::iota;
  data.fill.low = 3;
  data.fill.high = 2;
  ArgumentSetup by = data;
  by.name = "by";
  by.access = Argument::Access::in;
  by.fill.kind = Fill::Kind::uniform_int;
  by.fill.low = 1;
  by.fill.high = 9;
  ArgumentSetup n;
  n.name = "n";
  n.dtype = DType::i32;
  n.integer = kCount;
  problem.arguments = {data, by, n};
  problem.reference = {compile(kSource, "increment<0>"), kCpuEntrySymbol, shape({64, 1, 1}, {64, 1, 1})};
  return problem;
}

ProblemLaunch launch_of(std::int64_t problem, const std::string& name) {
  ProblemLaunch launch;
  launch.problem = problem;
  launch.launches = {{compile(kSource, name), kCpuEntrySymbol, shape({16, 1, 1}, {256, 1, 1})}};
  return launch;
}

class Runner : public testing::Test {
 protected:
  void SetUp() override {
    SetupRequest request;
    request.problems = {in_place_problem(0), in_place_problem(5)};
    const SetupReply reply = runner_.setup(request, stage_);
    ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  }

  CpuRunner runner_{2};
  std::vector<std::string> stages_;
  StageCallback stage_ = [this](const std::string& what) { stages_.push_back(what); };
};

// In place: right only if the buffer is restored before each launch.
TEST_F(Runner, VerifiesAndTimesAnInPlaceKernel) {
  RunRequest request;
  request.id = 3;
  request.verify = {launch_of(5, "increment<1>"), launch_of(0, "increment<1>")};
  request.time = launch_of(0, "increment<1>");
  request.timing.min_samples = 6;
  request.timing.max_samples = 9;
  stages_.clear();
  const RunReply reply = runner_.run(request, stage_);
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  EXPECT_EQ(reply.id, 3);
  EXPECT_EQ(reply.verification.problems, 2);
  ASSERT_TRUE(reply.timing);
  EXPECT_GE(reply.timing->samples_us.size(), 6u);
  EXPECT_LE(reply.timing->samples_us.size(), 9u);
  EXPECT_GT(*std::min_element(reply.timing->samples_us.begin(), reply.timing->samples_us.end()), 0);
  EXPECT_TRUE(reply.timing->method.starts_with("cold/"));
  EXPECT_EQ(stages_, (std::vector<std::string>{"load", "verify n=4096", "load", "verify n=4096", "time", "verify after timing"}));
}

TEST_F(Runner, SlowCandidatesAreAbandonedWithWhatWasMeasured) {
  RunRequest request;
  request.verify = {launch_of(0, "increment<2000>")};
  request.time = launch_of(0, "increment<2000>");
  request.timing.min_samples = 5;
  request.timing.abandon_above_us = 0.01;
  const RunReply reply = runner_.run(request, stage_);
  EXPECT_EQ(reply.outcome, Outcome::abandoned);
  ASSERT_TRUE(reply.timing);
  EXPECT_TRUE(reply.timing->abandoned);
  EXPECT_EQ(reply.timing->samples_us.size(), 5u);
}

TEST_F(Runner, NoTimeLeftEndsAfterThreeSamples) {
  RunRequest request;
  request.time = launch_of(0, "increment<1>");
  request.timing.max_seconds = 0;
  const RunReply reply = runner_.run(request, stage_);
  ASSERT_EQ(reply.outcome, Outcome::ok);
  EXPECT_EQ(reply.timing->samples_us.size(), 3u);
}

TEST_F(Runner, InterleavesFinalists) {
  InterleaveRequest request;
  request.candidates = {launch_of(0, "increment<1>"), launch_of(0, "increment<3000>"), launch_of(5, "increment<2>")};
  request.samples = 7;
  const InterleaveReply reply = runner_.interleave(request, stage_);
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  ASSERT_EQ(reply.timings.size(), 3u);
  for (const Timing& timing : reply.timings) EXPECT_EQ(timing.samples_us.size(), 7u);
}

TEST_F(Runner, BadLaunchesAreOutcomes) {
  RunRequest request;
  request.verify = {launch_of(0, "increment<1>")};
  request.verify[0].launches[0].shape.block = {2048, 1, 1};
  EXPECT_EQ(runner_.run(request, stage_).outcome, Outcome::no_resources);
  request.verify[0].launches[0].artifact = "/nonexistent.so";
  EXPECT_EQ(runner_.run(request, stage_).outcome, Outcome::launch_error);
  request.verify = {launch_of(77, "increment<1>")};
  EXPECT_EQ(runner_.run(request, stage_).outcome, Outcome::launch_error);
  request.verify = {launch_of(0, "increment<1>")};  // none of these made the runner unusable
  EXPECT_EQ(runner_.run(request, stage_).outcome, Outcome::ok);
}

TEST_F(Runner, TooLargeProblemIsOutOfMemory) {
  SetupRequest request;
  request.problems = {in_place_problem(0)};
  request.problems[0].arguments[0].count = std::int64_t{1} << 50;
  EXPECT_EQ(runner_.setup(request, stage_).outcome, Outcome::out_of_memory);
}

}  // namespace
}  // namespace tunebook::test
