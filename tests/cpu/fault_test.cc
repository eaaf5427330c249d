#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "kernel_fixture.h"

namespace tunebook::test {
namespace {

constexpr const char* kCopyReference = R"(
__global__ void reference(float* out, const float* in, long long n) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + 1.0f;
})";

// A candidate for out[i] = in[i] + 1 over n elements, run by a runner of its own. `in` has `n` elements.
RunReply run_candidate(const std::string& source, std::int64_t n = 1000, std::int64_t shared_bytes = 0, std::int64_t block = 128) {
  CpuRunner runner(2);
  const StageCallback no_stage = [](const std::string&) {};
  ProblemSetup problem;
  problem.display = "n=" + std::to_string(n);
  ArgumentSetup out;
  out.name = "out";
  out.pointer = true;
  out.count = n;
  out.access = Argument::Access::out;
  out.abs = 1e-6;
  ArgumentSetup in = out;
  in.name = "in";
  in.access = Argument::Access::in;
  in.fill.kind = Fill::Kind::uniform;
  in.fill.low = 0;
  in.fill.high = 1;
  in.seed = 7;
  ArgumentSetup count;
  count.name = "n";
  count.dtype = DType::i64;
  count.integer = n;
  problem.arguments = {out, in, count};
  const LaunchShape launch_shape = shape({(n + block - 1) / block, 1, 1}, {block, 1, 1}, shared_bytes);
  problem.reference = {compile(kCopyReference, "reference"), kCpuEntrySymbol, launch_shape};
  SetupRequest setup;
  setup.problems = {problem};
  const SetupReply ready = runner.setup(setup, no_stage);
  EXPECT_EQ(ready.outcome, Outcome::ok) << ready.message;

  RunRequest request;
  request.id = 9;
  ProblemLaunch launch;
  launch.launches = {{compile(source, "candidate"), kCpuEntrySymbol, launch_shape}};
  request.verify = {launch};
  return runner.run(request, no_stage);
}

std::string candidate(const std::string& body) {
  return "__global__ void candidate(float* out, const float* in, long long n) {\n"
         "  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n" +
         body + "\n}\n";
}

#define EXPECT_MESSAGE(reply, text) EXPECT_NE((reply).message.find(text), std::string::npos) << (reply).message

TEST(Fault, RightKernelIsOk) {
  const RunReply reply = run_candidate(candidate("if (i < n) out[i] = in[i] + 1.0f;"));
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
  EXPECT_EQ(reply.verification.problems, 1);
}

TEST(Fault, ReadPastTheEnd) {
  const RunReply reply = run_candidate(candidate("if (i < n) out[i] = in[i] + 1.0f; if (i == 3) out[i] += in[n + 4];"), 1000);
  EXPECT_EQ(reply.outcome, Outcome::fault);
  EXPECT_MESSAGE(reply, "access outside buffer 'in': byte offset +16 past its end");
  EXPECT_MESSAGE(reply, "thread (3,0,0) of block (0,0,0)");
}

TEST(Fault, WriteBeforeTheStart) {
  const RunReply reply = run_candidate(candidate("if (i < n) out[i] = in[i] + 1.0f; if (i == 0) out[-100000] = 1;"), 1000);
  EXPECT_EQ(reply.outcome, Outcome::fault);
  EXPECT_MESSAGE(reply, "access outside buffer 'out': 400000 bytes before its start");
}

TEST(Fault, WriteIntoTheSlack) {
  const RunReply reply = run_candidate(candidate("if (i <= n) out[i] = i < n ? in[i] + 1.0f : 0.0f;"), 1001);
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
  EXPECT_MESSAGE(reply, "memory outside buffer 'out' was overwritten at byte 4004");
}

TEST(Fault, NullPointer) {
  const RunReply reply = run_candidate(candidate("if (i < n) out[i] = in[i] + 1.0f; if (i == 5) *(volatile int*)(i - 5) = 1;"));
  EXPECT_EQ(reply.outcome, Outcome::fault);
  EXPECT_MESSAGE(reply, "illegal access");
}

TEST(Fault, UnwrittenElement) {
  const RunReply reply = run_candidate(candidate("if (i < n && i != 700) out[i] = in[i] + 1.0f;"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
  EXPECT_MESSAGE(reply, "out[700] is nan, expected 1.");
}

TEST(Fault, NaN) {
  const RunReply reply = run_candidate(candidate("if (i < n) out[i] = i == 999 ? NAN : in[i] + 1.0f;"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
  EXPECT_MESSAGE(reply, "out[999] is nan");
}

TEST(Fault, InputChanged) {
  const RunReply reply = run_candidate(candidate("if (i < n) { out[i] = in[i] + 1.0f; if (i == 3) ((float*)in)[5] = 9.0f; }"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
}

TEST(Fault, InputChangedAfterUse) {
  const RunReply reply =
      run_candidate(candidate("if (i < n) { out[i] = in[i] + 1.0f; if (i == 30) ((float*)in)[5] = 9.0f; }"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
  EXPECT_MESSAGE(reply, "in[5] of an input was changed from 0.");
  EXPECT_MESSAGE(reply, " to 9");
}

TEST(Fault, DifferentInEachRun) {
  const RunReply reply = run_candidate("__device__ int calls;\n" +
                                       candidate("if (i < n) out[i] = in[i] + 1.0f;\n"
                                                 "if (i == 4) out[i] += atomicAdd(&calls, 1) * 5e-7f;"));
  EXPECT_EQ(reply.outcome, Outcome::nondeterministic) << reply.message;
  EXPECT_MESSAGE(reply, "out[4] is 1.");
}

TEST(Fault, UninitialisedSharedMemoryIsGarbage) {
  const RunReply reply = run_candidate(candidate("__shared__ float x[128]; if (i < n) out[i] = in[i] + 1.0f + x[threadIdx.x];"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
}

TEST(Fault, BarriersInDifferentLines) {
  const RunReply reply = run_candidate(candidate("if (threadIdx.x < 64)\n__syncthreads();\nelse\n__syncthreads();\nif (i < n) out[i] = 0;"));
  EXPECT_EQ(reply.outcome, Outcome::divergent_barrier);
  EXPECT_MESSAGE(reply, "thread (64,0,0) of block (");
  EXPECT_MESSAGE(reply, "is at the barrier in kernel.cu:6 while thread (0,0,0) is at the one in kernel.cu:4");
}

TEST(Fault, LanesThatNeverCome) {
  const RunReply reply = run_candidate(candidate("if (threadIdx.x == 0) __syncwarp(); else __syncthreads(); if (i < n) out[i] = 0;"));
  EXPECT_EQ(reply.outcome, Outcome::divergent_barrier);
}

TEST(Fault, Trap) {
  const RunReply reply = run_candidate(candidate("if (i == 17) __trap();"));
  EXPECT_EQ(reply.outcome, Outcome::fault);
  EXPECT_MESSAGE(reply, "kernel.cu:3: __trap() in thread (17,0,0)");
}

TEST(Fault, Assertion) {
  const RunReply reply = run_candidate("#include <cassert>\n" + candidate("assert(i != 18);"));
  EXPECT_EQ(reply.outcome, Outcome::fault);
  EXPECT_MESSAGE(reply, "kernel.cu:4: assertion `i != 18` failed in thread (18,0,0)");
}

TEST(Fault, DivisionByZero) {
  const RunReply reply = run_candidate(candidate("volatile int zero = 0; if (i < n) out[i] = 7 / zero;"));
  EXPECT_EQ(reply.outcome, Outcome::fault);
  EXPECT_MESSAGE(reply, "division by zero");
}

TEST(Fault, StackOverflow) {
  const RunReply reply = run_candidate(
      "__noinline__ __device__ float deep(const float* in, int d) { volatile float x[64]; x[d % 64] = in[d];\n"
      "  return d > 100000 ? x[3] : deep(in, d + 1) + x[d % 64]; }\n" +
      candidate("if (i < n) out[i] = deep(in - 0, 0);"), 200000);
  EXPECT_EQ(reply.outcome, Outcome::fault);
  EXPECT_MESSAGE(reply, "stack overflow");
}

TEST(Fault, PastDynamicSharedMemory) {
  const RunReply reply = run_candidate(candidate("extern __shared__ float s[];\ns[threadIdx.x + 512] = 1; if (i < n) out[i] = s[0];"),
                                       1000, 2048);
  EXPECT_EQ(reply.outcome, Outcome::fault);
  EXPECT_MESSAGE(reply, "past the end of the 2048 bytes of dynamic shared memory");
}

TEST(Fault, TooMuchStaticSharedMemory) {
  EXPECT_EQ(run_candidate(candidate("__shared__ float x[50000]; x[threadIdx.x] = 1; if (i < n) out[i] = in[i] + x[threadIdx.x];"))
                .outcome,
            Outcome::no_resources);
}

TEST(Fault, RunnerRefusesToGoOnAfterAFault) {
  CpuRunner runner(1);
  const StageCallback no_stage = [](const std::string&) {};
  SetupRequest setup;
  ProblemSetup problem;
  problem.display = "none";
  problem.reference = {compile("__global__ void k() { __trap(); }", "k"), kCpuEntrySymbol, shape({1, 1, 1}, {1, 1, 1})};
  setup.problems = {problem};
  const SetupReply failed = runner.setup(setup, no_stage);
  EXPECT_EQ(failed.outcome, Outcome::fault);
  EXPECT_MESSAGE(failed, "reference: none: ");
  EXPECT_EQ(runner.run(RunRequest{}, no_stage).outcome, Outcome::fault);
}

}  // namespace
}  // namespace tunebook::test
