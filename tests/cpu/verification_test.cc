// What verification on the cpu device accepts and refuses, and what it leaves for the next candidate.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/fill_value.h"
#include "kernel_fixture.h"

namespace tunebook::test {
namespace {

using Access = Argument::Access;
constexpr std::int64_t kCount = 4096;
const StageCallback kNoStage = [](const std::string&) {};

ArgumentSetup buffer(const std::string& name, DType type, Access access, Fill::Kind kind = Fill::Kind::none, double low = 0, double high = 0) {
  ArgumentSetup argument;
  argument.name = name;
  argument.dtype = type;
  argument.pointer = true;
  argument.count = kCount;
  argument.access = access;
  argument.fill.kind = kind;
  argument.fill.low = low;
  argument.fill.high = high;
  argument.seed = 11;
  return argument;
}

// One problem, whose kernels take its buffers and nothing else: a thread for each element.
class CpuVerification : public testing::Test {
 protected:
  void set_up(const std::string& source, const std::string& reference, std::vector<ArgumentSetup> arguments) {
    source_ = source;
    ProblemSetup problem;
    problem.display = "n=4096";
    problem.arguments = std::move(arguments);
    problem.reference = kernel(reference);
    SetupRequest request;
    request.problems = {problem};
    const SetupReply reply = runner_.setup(request, kNoStage);
    ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  }

  KernelLaunch kernel(const std::string& name) { return {compile(source_, name), kCpuEntrySymbol, shape({kCount / 64, 1, 1}, {64, 1, 1})}; }
  ProblemLaunch launch(const std::string& name, bool restore = false, bool nondeterministic = false) {
    ProblemLaunch result;
    result.launches = {kernel(name)};
    result.restore = restore;
    result.nondeterministic = nondeterministic;
    return result;
  }
  RunReply verify(const ProblemLaunch& candidate) {
    RunRequest request;
    request.verify = {candidate};
    return runner_.run(request, kNoStage);
  }
  RunReply time(const ProblemLaunch& candidate, double abandon_above_us = 0) {
    RunRequest request;
    request.verify = {candidate};
    request.time = candidate;
    request.timing.min_samples = 8;
    request.timing.max_samples = 8;
    request.timing.target_relative_width = 0;
    request.timing.abandon_above_us = abandon_above_us;
    return runner_.run(request, kNoStage);
  }

  std::string source_;
  CpuRunner runner_{2};
};

// ---- what a kernel keeps from launch to launch

constexpr const char* kCounting = R"(
__device__ unsigned tickets;
__device__ unsigned launches_before() {  // this one
  __shared__ unsigned ticket;
  if (threadIdx.x == 0) ticket = atomicAdd(&tickets, 1u);
  __syncthreads();
  return ticket / gridDim.x;
}
__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__global__ void copy(float* y, const float* x) { y[index()] = x[index()]; }
__global__ void counts(float* y, const float* x) { y[index()] = launches_before() < 1000 ? x[index()] : 0; }
__global__ void stops(float* y, const float* x) { if (launches_before() < 4) y[index()] = x[index()]; }
__global__ void maximum(float* y, const float* x) { y[index()] = fmaxf(y[index()], x[index()]); }
__global__ void spoils_its_input(float* y, float* x) {
  y[index()] = x[index()];
  if (launches_before() == 4) x[index()] = 0;
}
)";

class Counting : public CpuVerification {
 protected:
  void SetUp() override {
    set_up(kCounting, "copy", {buffer("y", DType::f32, Access::out), buffer("x", DType::f32, Access::in, Fill::Kind::uniform, 1, 2)});
  }
};

TEST_F(Counting, WhoStopsWorkingWhenTimedIsWrong) {
  const RunReply reply = time(launch("stops"));
  EXPECT_EQ(reply.outcome, Outcome::wrong_result);
  EXPECT_TRUE(reply.message.starts_with("right at first, but not after it was timed: n=4096: y[0] is ")) << reply.message;
  EXPECT_FALSE(reply.timing);
  EXPECT_EQ(time(launch("spoils_its_input")).outcome, Outcome::wrong_result);
  EXPECT_EQ(time(launch("maximum")).outcome, Outcome::wrong_result);  // the garbage of the first two runs was smaller
  const RunReply good = time(launch("counts"));  // what the others left was made good
  EXPECT_EQ(good.outcome, Outcome::ok) << good.message;
  EXPECT_EQ(good.verification.problems, 1);
  EXPECT_EQ(good.timing->samples_us.size(), 8U);
}

// Nobody is called right, but slow, who was found wrong later.
TEST_F(Counting, WhoIsAbandonedIsVerifiedAfterTimingToo) {
  constexpr double kAtOnce = 1e-6;
  EXPECT_EQ(time(launch("counts"), kAtOnce).outcome, Outcome::abandoned);
  const RunReply reply = time(launch("stops"), kAtOnce);
  EXPECT_EQ(reply.outcome, Outcome::wrong_result) << reply.message;
  EXPECT_FALSE(reply.timing);
}

// ---- in place

// y[i] starts as 3 + 2 i. "strict" ends the trial by a trap when it starts from anything else.
constexpr const char* kInPlace = R"(
__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__global__ void add(float* y, const float* x) { y[index()] += x[index()]; }
__global__ void add_twice(float* y, const float* x) { y[index()] += 2 * x[index()]; }
__global__ void strict(float* y, const float* x) {
  if (y[index()] != 3.0f + 2.0f * index()) __trap();
  y[index()] += x[index()];
}
__global__ void overwrite(float* y, const float* x) { y[index()] = 3.0f + 2.0f * index() + x[index()]; }
)";

class InPlace : public CpuVerification {
 protected:
  void SetUp() override {
    set_up(kInPlace, "add", {buffer("y", DType::f32, Access::inout, Fill::Kind::iota, 3, 2), buffer("x", DType::f32, Access::in, Fill::Kind::uniform, 1, 2)});
  }
};

TEST_F(InPlace, RestoredBeforeEveryLaunch) {
  const RunReply reply = time(launch("strict", true));
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  ASSERT_TRUE(reply.timing);
  EXPECT_EQ(reply.timing->samples_us.size(), 8U);
}

TEST_F(InPlace, RestoredBeforeEveryLaunchOfFinalists) {
  InterleaveRequest request;
  request.candidates = {launch("strict", true), launch("add", false), launch("strict", true)};
  request.samples = 6;
  const InterleaveReply reply = runner_.interleave(request, kNoStage);
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
  EXPECT_EQ(reply.timings.size(), 3U);
}

// That the kernel tells when its input is not restored is what the two tests above stand on.
TEST_F(InPlace, NotRestoredWhereTheSpecSaysItIsNotNeeded) {
  EXPECT_EQ(verify(launch("strict", false)).outcome, Outcome::ok);  // verification restores in any case
  EXPECT_EQ(time(launch("strict", false)).outcome, Outcome::fault);
}

TEST_F(InPlace, AFalseDeclarationSpoilsNobodysVerification) {
  for (int i = 0; i < 2; ++i) {
    const RunReply spoiler = time(launch("add", false));  // y grows with each of its launches
    ASSERT_EQ(spoiler.outcome, Outcome::ok) << spoiler.message;
    EXPECT_EQ(verify(launch("strict", false)).outcome, Outcome::ok);
    ASSERT_EQ(time(launch("add", false)).outcome, Outcome::ok);
    EXPECT_EQ(verify(launch("add_twice", false)).outcome, Outcome::wrong_result);
    EXPECT_EQ(verify(launch("overwrite", false)).outcome, Outcome::ok);
    EXPECT_EQ(time(launch("strict", true)).outcome, Outcome::ok);
  }
}

// ---- run to run

// The order of summation depends on what the output held before, as atomics' order does on the moment: different in each run.
constexpr const char* kSums = R"(
__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ float row(const float* x, bool backwards) {
  float sum = 0;
  for (int i = 0; i < 1000; ++i) sum += x[(index() + (backwards ? 999 - i : i)) % 4096];
  return sum;
}
__global__ void fixed(float* c, const float* x, float* total) { c[index()] = row(x, false); }
__global__ void by_chance(float* c, const float* x, float* total) { c[index()] = row(x, isnan(c[index()])); }
__global__ void wrong_by_chance(float* c, const float* x, float* total) { c[index()] = row(x, false) * (isnan(c[index()]) ? 1 : 1.01f); }
__global__ void with_total(float* c, const float* x, float* total) {
  c[index()] = row(x, false);
  atomicAdd(&total[index() % 7], x[index()]);
}
__global__ void with_total_reference(float* c, const float* x, float* total) {
  c[index()] = row(x, false);
  if (index() >= 7) return;
  double sum = 0;
  for (int i = index(); i < 4096; i += 7) sum += x[i];
  total[index()] = sum;
}
)";

class RunToRun : public CpuVerification {
 protected:
  void set_up_sums(const std::string& reference) {
    ArgumentSetup sums = buffer("c", DType::f32, Access::out);
    sums.abs = 1e-3;
    ArgumentSetup total = buffer("total", DType::f32, Access::inout, Fill::Kind::zero);
    total.count = 7;
    total.abs = 1e-3;
    set_up(kSums, reference, {sums, buffer("x", DType::f32, Access::in, Fill::Kind::uniform, -1, 1), total});
  }
};

TEST_F(RunToRun, DifferencesAreAcceptedOfThoseDeclaredOnly) {
  set_up_sums("fixed");
  EXPECT_EQ(verify(launch("fixed")).outcome, Outcome::ok);
  const RunReply undeclared = verify(launch("by_chance"));
  EXPECT_EQ(undeclared.outcome, Outcome::nondeterministic);
  EXPECT_NE(undeclared.message.find("in one run and"), std::string::npos) << undeclared.message;
  const RunReply declared = verify(launch("by_chance", false, true));
  EXPECT_EQ(declared.outcome, Outcome::ok) << declared.message;
  EXPECT_EQ(verify(launch("fixed", false, true)).outcome, Outcome::ok);
}

TEST_F(RunToRun, BothRunsOfTheDeclaredAreCompared) {
  set_up_sums("fixed");
  EXPECT_EQ(verify(launch("wrong_by_chance", false, true)).outcome, Outcome::wrong_result);
}

TEST_F(RunToRun, AtomicsAddToZeroInAnyOrder) {
  set_up_sums("with_total_reference");
  const RunReply reply = time(launch("with_total", true, true));
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
  EXPECT_EQ(verify(launch("fixed", true)).outcome, Outcome::wrong_result);  // leaves the zeros
}

// ---- special values

constexpr const char* kSpecial = R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ double wide(double x) { return x; }
__device__ double wide(float x) { return x; }
__device__ double wide(__half x) { return __half2float(x); }
__device__ double wide(__nv_bfloat16 x) { return __bfloat162float(x); }
template <typename T> __device__ T small(double x) { return static_cast<T>(static_cast<float>(x)); }
template <> __device__ double small<double>(double x) { return x; }
template <typename T> __global__ void copy(T* y, const T* x) { y[index()] = x[index()]; }
template <typename T> __global__ void through_double(T* y, const T* x) { y[index()] = small<T>(wide(x[index()])); }
template <typename T> __global__ void nan_lost(T* y, const T* x) { y[index()] = isnan(wide(x[index()])) ? small<T>(0) : x[index()]; }
template <typename T> __global__ void nan_made(T* y, const T* x) { y[index()] = small<T>(wide(x[index()]) - wide(x[index()]) + wide(x[index()])); }
template <typename T> __global__ void sign_lost(T* y, const T* x) { y[index()] = isinf(wide(x[index()])) ? small<T>(fabs(wide(x[index()]))) : x[index()]; }
template <typename T> __global__ void overflows(T* y, const T* x) { y[index()] = wide(x[index()]) > 1e4 ? small<T>(1e39 * 10 * 1e300) : x[index()]; }
template <typename T> __global__ void flushes(T* y, const T* x) { y[index()] = fabs(wide(x[index()])) < 1e-6 ? small<T>(0) : x[index()]; }
)";

class SpecialValues : public CpuVerification, public testing::WithParamInterface<DType> {
 protected:
  static std::string of(const std::string& name) { return name + "<" + std::string(cuda_type_name(GetParam())) + ">"; }
  std::vector<ArgumentSetup> arguments(unsigned special) const {
    ArgumentSetup x = buffer("x", GetParam(), Access::in, Fill::Kind::uniform, 1, 2);
    x.fill.special = special;
    return {buffer("y", GetParam(), Access::out), x};
  }
};

TEST_P(SpecialValues, AreWhereAndWhatTheFillSays) {
  constexpr unsigned kAll = (1U << kSpecialCount) - 1;
  ProblemSetup setup;
  setup.arguments = arguments(kAll);
  WorkerThreads threads(2);
  ProblemBuffers buffers(setup, threads);
  const char* elements = *static_cast<char**>(buffers.arguments()[1]);
  const std::size_t size = dtype_size(GetParam());
  unsigned seen = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    std::uint64_t bits = 0, expected = 0;
    std::memcpy(&bits, elements + i * size, size);
    const unsigned special = special_of(kAll, 11, i);
    seen |= special;
    if (special != 0) expected = special_bits(special, static_cast<int>(size), fraction_bits(GetParam()));
    else store_from_double(GetParam(), fill_value(1, 1, 2, 11, i), &expected);
    ASSERT_EQ(bits, expected) << i;
  }
  EXPECT_EQ(seen, kAll);
}

TEST_P(SpecialValues, ArePassedOnByRightKernelsOnly) {
  set_up(kSpecial, of("copy"), arguments((1U << kSpecialCount) - 1));
  EXPECT_EQ(verify(launch(of("copy"))).outcome, Outcome::ok);
  const RunReply through = verify(launch(of("through_double")));
  EXPECT_EQ(through.outcome, Outcome::ok) << through.message;
  for (const char* wrong : {"nan_lost", "nan_made", "sign_lost", "overflows", "flushes"}) {
    const RunReply reply = verify(launch(of(wrong)));
    EXPECT_EQ(reply.outcome, Outcome::wrong_result) << wrong << ": " << reply.message;
  }
}

// Without them the same faults go unnoticed.
TEST_P(SpecialValues, AreAbsentUnlessAsked) {
  set_up(kSpecial, of("copy"), arguments(0));
  for (const char* kernel : {"nan_lost", "nan_made", "sign_lost", "overflows", "flushes"}) {
    EXPECT_EQ(verify(launch(of(kernel))).outcome, Outcome::ok) << kernel;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SpecialValues, testing::Values(DType::f16, DType::bf16, DType::f32, DType::f64),
                         [](const testing::TestParamInfo<DType>& type) { return std::string(dtype_name(type.param)); });

}  // namespace
}  // namespace tunebook::test
