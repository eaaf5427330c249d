// End to end on a GPU, through the backend classes: each kind of fault is planted and must be named.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/statistics.h"
#include "runner_fixture.h"

namespace tunebook {
namespace {

class Runner : public RunnerTest {};

TEST_F(Runner, HelloDescribesTheDevice) {
  ASSERT_TRUE(hello_.device.has_value());
  EXPECT_EQ(hello_.device->kind, "cuda");
  EXPECT_GT(hello_.device->sm_count, 0);
  EXPECT_EQ(hello_.native_arch, "sm_" + std::to_string(hello_.device->compute_capability));
  EXPECT_GE(hello_.device->limits.shared_bytes_per_block_optin, 49152);
  EXPECT_GT(hello_.device->limits.l2_bytes, 0);
  EXPECT_TRUE(has(hello_.driver, "CUDA"));
  RecordProperty("device", hello_.device->to_json().dump());
  RecordProperty("driver", hello_.driver);
}

TEST_F(Runner, GoodKernelIsVerifiedAndTimed) {
  const RunReply reply = run(good_, true);
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  EXPECT_EQ(reply.id, 5);
  EXPECT_EQ(reply.verification.problems, 4);
  EXPECT_EQ(reply.verification.max_error, 0);
  EXPECT_EQ(reply.resources.max_threads_per_block, 1024);
  EXPECT_GE(reply.resources.blocks_per_sm, 1);
  ASSERT_TRUE(reply.timing.has_value());
  EXPECT_EQ(reply.timing->method, "cold/2");
  // 12 MiB take a few microseconds at the bandwidth of any GPU that holds them in L2, and up to 40 of others.
  EXPECT_GT(reply.timing->launches_per_sample, 1);
  EXPECT_GT(reply.timing->launch_us, 0);
  EXPECT_GE(reply.timing->samples_us.size(), 5u);
  EXPECT_LE(reply.timing->samples_us.size(), 50u);
  // 12 MiB at any GPU's bandwidth, and not a whole second.
  EXPECT_GT(median(reply.timing->samples_us), 1.0);
  EXPECT_LT(median(reply.timing->samples_us), 1e5);
  EXPECT_TRUE(std::find(stages_.begin(), stages_.end(), "verify n=1023") != stages_.end());
  EXPECT_EQ(stages_.back(), "verify after timing");
}

TEST_F(Runner, WarmIsBatchedAndNotSlowerThanCold) {
  const RunReply cold = run(good_, true);
  plan_.cache = CacheMode::warm;
  const RunReply warm = run(good_, true);
  ASSERT_TRUE(warm.timing && cold.timing);
  EXPECT_EQ(warm.timing->method, "warm/2");
  EXPECT_GT(warm.timing->launches_per_sample, 1);
  EXPECT_LE(median(warm.timing->samples_us), median(cold.timing->samples_us) * 1.05);
}

TEST_F(Runner, LongerWorkTakesLonger) {
  const RunReply once = run(good_, true);
  const RunReply more = run(candidate("if (i < n) { float s = 0; for (int k = 0; k < 20000; ++k) s = fmaf(s, 0.5f, a[i]);\n"
                                      "  c[i] = s == 12345.f ? s : a[i] + b[i]; }"), true);
  ASSERT_TRUE(once.timing && more.timing) << more.message;
  EXPECT_GT(median(more.timing->samples_us), 10 * median(once.timing->samples_us));
}

TEST_F(Runner, SlowOnesAreAbandonedAfterTheLeastNumberOfSamples) {
  plan_.abandon_above_us = 0.01;
  const RunReply reply = run(good_, true);
  EXPECT_EQ(reply.outcome, Outcome::abandoned);
  ASSERT_TRUE(reply.timing.has_value());
  EXPECT_TRUE(reply.timing->abandoned);
  EXPECT_EQ(reply.timing->samples_us.size(), 5u);
}

TEST_F(Runner, WrongElement) {
  const RunReply reply = run(candidate("if (i < n) c[i] = a[i] + b[i] + (i == 777 ? 0.001f : 0.f);"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
  EXPECT_TRUE(has(reply.message, "n=1048576: c[777] is ")) << reply.message;
  EXPECT_TRUE(has(reply.message, "expected")) << reply.message;
  EXPECT_FALSE(reply.timing.has_value());
  expect_good();
}

TEST_F(Runner, WrongOnlyAtRaggedSizes) {
  const RunReply reply = run(candidate("if (i < n) c[i] = n % 256 == 255 && i == n - 1 ? 0.5f : a[i] + b[i];"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
  EXPECT_TRUE(has(reply.message, "n=1023: c[1022] is 0.5")) << reply.message;
  EXPECT_EQ(reply.verification.problems, 2);
}

TEST_F(Runner, NanIsWrong) {
  const RunReply reply = run(candidate("if (i < n) c[i] = i == 9 ? nanf(\"\") : a[i] + b[i];"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
  EXPECT_TRUE(has(reply.message, "c[9] is nan")) << reply.message;
}

TEST_F(Runner, UnwrittenElement) {
  const RunReply reply = run(candidate("if (i < n && i != 41) c[i] = a[i] + b[i];"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
  EXPECT_TRUE(has(reply.message, "n=1048576: c[41] is nan")) << reply.message;
  EXPECT_TRUE(has(reply.message, "not written")) << reply.message;
}

TEST_F(Runner, WritesBehindTheEnd) {
  const RunReply reply = run(candidate("if (i <= n) c[i] = i < n ? a[i] + b[i] : 0.f;"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
  // n = 2^20 fills its blocks; 1023 does not, and neither does 1.
  EXPECT_TRUE(has(reply.message, "n=1: writes outside of c: 0 bytes behind its end")) << reply.message;
  expect_good();
}

TEST_F(Runner, WritesBeforeTheStart) {
  const RunReply reply = run(candidate("if (i < n) c[i] = a[i] + b[i]; if (i == 0) a[-3] = 1.f;"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
  EXPECT_TRUE(has(reply.message, "writes outside of a: 12 bytes before its start")) << reply.message;
  expect_good();
}

TEST_F(Runner, ReadsBehindTheEndShow) {
  const RunReply reply = run(candidate("if (i < n) c[i] = a[i] + b[i] + 0.f * a[i + 1];"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result) << reply.message;
  EXPECT_TRUE(has(reply.message, "is nan")) << reply.message;
}

TEST_F(Runner, ChangedInput) {
  const RunReply reply = run(candidate("if (i < n) { c[i] = a[i] + b[i]; if (i == 5) a[5] = a[5] * 2.f; }"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
  EXPECT_TRUE(has(reply.message, "changes its input a[5]")) << reply.message;
  expect_good();
}

TEST_F(Runner, WildWriteIntoAnotherProblemDoesNotBlameTheNextCandidate) {
  // Ranges lie somewhere behind one another; whatever this hits is made anew.
  const RunReply reply = run(candidate("if (i < n) c[i] = a[i] + b[i]; if (i == 0) for (int k = 0; k < 16384; ++k) c[n + k] = 1.f;"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
  expect_good();
}

TEST_F(Runner, RunToRunDifferences) {
  const std::string racy = "__device__ int calls;\n" + candidate("if (i < n) c[i] = (a[i] + b[i]) * (1.f + (i == 0 ? 3e-7f * (atomicAdd(&calls, 1) % 2) : 0.f));");
  const RunReply reply = run(racy);
  EXPECT_EQ(reply.outcome, Outcome::nondeterministic) << reply.message;
  EXPECT_TRUE(has(reply.message, "c[0] is ")) << reply.message;
  nondeterministic_ = true;
  EXPECT_EQ(run(racy).outcome, Outcome::ok);
}

TEST_F(Runner, InoutArgumentsStartFreshBeforeEachLaunch) {
  restore_ = true;
  set_up_problems(Argument::Access::inout, R"(
    extern "C" __global__ void reference(float* c, const float* a, const float* b, long long n) {
      const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
      if (i < n) c[i] += a[i] + b[i];
    })");
  const RunReply reply = run(candidate("if (i < n) c[i] += a[i] + b[i];"), true);
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
  EXPECT_EQ(run(candidate("if (i < n) c[i] = a[i] + b[i];")).outcome, Outcome::wrong_result);
  EXPECT_EQ(run(candidate("if (i < n) c[i] += a[i] + b[i];")).outcome, Outcome::ok);
}

TEST_F(Runner, TooMuchDynamicSharedMemory) {
  const std::string text = "extern __shared__ float dynamic[];\n" + candidate("dynamic[threadIdx.x] = 0; if (i < n) c[i] = a[i] + b[i] + dynamic[threadIdx.x];");
  EXPECT_EQ(run(text, true, hello_.device->limits.shared_bytes_per_block_optin).outcome, Outcome::ok);
  const RunReply reply = run(text, true, hello_.device->limits.shared_bytes_per_block_optin + 16);
  EXPECT_EQ(reply.outcome, Outcome::no_resources) << reply.message;
  EXPECT_TRUE(has(reply.message, "shared memory")) << reply.message;
  expect_good();
}

TEST_F(Runner, BlockLargerThanTheKernelAllows) {
  const CompileReply compiled = compile("extern \"C\" __global__ void __launch_bounds__(128) k(float* c, float* a, const float* b, long long n) {}", "k");
  RunRequest request;
  request.verify = {launch(compiled, 0)};
  const RunReply reply = runner_->run(request, stage());
  EXPECT_EQ(reply.outcome, Outcome::no_resources);
  EXPECT_TRUE(has(reply.message, "block of 256 threads, the kernel allows 128")) << reply.message;
  expect_good();
}

TEST_F(Runner, MissingCubinAndSymbol) {
  CompileReply compiled = compile(good_, "k");
  RunRequest request;
  request.verify = {launch(compiled, 0)};
  request.verify[0].launches[0].symbol = "absent";
  EXPECT_EQ(runner_->run(request, stage()).outcome, Outcome::launch_error);
  request.verify[0].launches[0].artifact += ".absent";
  EXPECT_EQ(runner_->run(request, stage()).outcome, Outcome::launch_error);
  expect_good();
}

TEST_F(Runner, MoreMemoryThanThereIs) {
  SetupRequest request;
  request.problems = {problem(0, std::int64_t{1} << 40, compile(kReference, "reference"))};
  request.problems[0].reference.shape = shape(1);
  const SetupReply reply = runner_->setup(request, stage());
  EXPECT_EQ(reply.outcome, Outcome::out_of_memory) << reply.message;
  set_up_problems();
  expect_good();
}

TEST_F(Runner, FaultEndsTheProcessesUseOfTheGpu) {
  const RunReply reply = run(candidate("if (i == 0) *reinterpret_cast<float*>(16) = 1.f; if (i < n) c[i] = a[i] + b[i];"));
  EXPECT_EQ(reply.outcome, Outcome::fault);
  EXPECT_TRUE(has(reply.message, "cudaErrorIllegalAddress")) << reply.message;
  EXPECT_THROW(run(good_), EnvironmentError);
}

TEST_F(Runner, TrapIsAFault) {
  const RunReply reply = run(candidate("if (i == 0) __trap();"));
  EXPECT_EQ(reply.outcome, Outcome::fault) << reply.message;
}

TEST_F(Runner, AllElementTypesFillAndCompare) {
  struct Case {
    DType dtype;
    Fill fill;
  };
  const Fill real{Fill::Kind::normal, 0, 1, ""};
  const Fill whole{Fill::Kind::uniform_int, 0, 100, ""};
  for (const auto& [dtype, fill] : {Case{DType::f16, real}, {DType::bf16, real}, {DType::f32, real}, {DType::f64, real}, {DType::i8, whole},
                                    {DType::u8, whole}, {DType::i16, whole}, {DType::u16, whole}, {DType::i32, whole}, {DType::u32, whole},
                                    {DType::i64, whole}, {DType::u64, whole}, {DType::boolean, whole}}) {
    const std::string type(cuda_type_name(dtype));
    const std::string text = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nextern \"C\" __global__ void k(" + type + "* c, const " + type +
                             "* a, long long n) { const long long i = blockIdx.x * 256ll + threadIdx.x; if (i < n) c[i] = a[i]; }";
    const CompileReply compiled = compile(text, "k");
    SetupRequest setup;
    setup.problems = {problem(0, 1001, compiled)};
    auto& arguments = setup.problems[0].arguments;
    arguments.erase(arguments.begin() + 2);
    arguments[0].dtype = arguments[1].dtype = dtype;
    arguments[0].rel = 0;
    arguments[1].fill = fill;
    ASSERT_EQ(runner_->setup(setup, stage()).outcome, Outcome::ok) << type;
    RunRequest request;
    request.verify = {{0, {{compiled.artifact, compiled.symbol, shape(1001)}}}};
    const RunReply reply = runner_->run(request, stage());
    EXPECT_EQ(reply.outcome, Outcome::ok) << type << ": " << reply.message;
    const CompileReply wrong = compile(text.substr(0, text.size() - 1) + " if (i == 1000) c[i] = (" + type + ")(float(a[i]) == 0.f); }", "k");
    request.verify[0].launches[0] = {wrong.artifact, wrong.symbol, shape(1001)};
    const RunReply fault = runner_->run(request, stage());
    EXPECT_EQ(fault.outcome, Outcome::wrong_result) << type << ": " << fault.message;
  }
}

TEST_F(Runner, InterleavedTimings) {
  const CompileReply fast = compile(good_, "k");
  const CompileReply slow = compile(candidate("if (i < n) { float s = 0; for (int k = 0; k < 20000; ++k) s = fmaf(s, 0.5f, a[i]);\n"
                                              "  c[i] = s == 12345.f ? s : a[i] + b[i]; }"), "k");
  InterleaveRequest request;
  request.candidates = {launch(fast, 0), launch(slow, 0), launch(fast, 0)};
  request.samples = 7;
  const InterleaveReply reply = runner_->interleave(request, stage());
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  ASSERT_EQ(reply.timings.size(), 3u);
  for (const Timing& timing : reply.timings) EXPECT_EQ(timing.samples_us.size(), 7u);
  EXPECT_GT(median(reply.timings[1].samples_us), 5 * median(reply.timings[0].samples_us));
  EXPECT_LT(median(reply.timings[2].samples_us), 2 * median(reply.timings[0].samples_us));
}

TEST(RunnerWithoutGpu, SaysWhatIsMissing) {
  EXPECT_NE(make_cuda_runner("gpu7")->hello().error.find("\"gpu7\" is no CUDA device"), std::string::npos);
  const std::string error = make_cuda_runner("cuda:99")->hello().error;
  EXPECT_NE(error, "");
  EXPECT_TRUE(has(error, "driver") || has(error, "cuda:99") || has(error, "device")) << error;
}

}  // namespace
}  // namespace tunebook
