// Baselines on a GPU: right against naive references, timed beside a kernel, and harmless where they are wrong or not there.

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/statistics.h"
#include "runner_fixture.h"

namespace tunebook {
namespace {

using Access = Argument::Access;
using Parameters = std::vector<std::pair<std::string, std::string>>;

class Baseline : public RunnerTest {
 protected:
  Baseline() {
#ifdef BASELINES_MODULE
    ::setenv("TUNEBOOK_BASELINES", BASELINES_MODULE, 1);
#endif
  }

  static ArgumentSetup typed(const std::string& name, DType dtype, Access access, std::int64_t count, double tolerance = 0) {
    ArgumentSetup argument = buffer(name, access, count, 1 + static_cast<std::uint64_t>(name.front()));
    argument.dtype = dtype;
    argument.rel = 0;
    argument.abs = tolerance;
    if (access == Access::in && dtype == DType::i32) argument.fill = {Fill::Kind::uniform_int, -9, 9, "uniform_int(-9, 9)"};
    return argument;
  }

  // Sets up one problem whose reference is `text`, with one thread for each of `threads`, and times that kernel beside the baseline.
  InterleaveReply time(const std::string& text, std::vector<ArgumentSetup> arguments, std::int64_t threads, BaselineLaunch baseline) {
    const CompileReply reference = compile(text, "reference");
    ProblemSetup setup;
    setup.display = baseline.operation;
    setup.arguments = std::move(arguments);
    setup.reference = {reference.artifact, reference.symbol, shape(threads)};
    SetupRequest request;
    request.problems = {setup};
    const SetupReply reply = runner_->setup(request, stage());
    EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
    InterleaveRequest interleave;
    interleave.samples = 5;
    interleave.candidates.push_back({0, {setup.reference}});
    interleave.candidates.push_back({});
    interleave.candidates.back().baseline = std::move(baseline);
    return runner_->interleave(interleave, stage());
  }

  static std::string code(const std::string& parameters, const std::string& body) {
    return "#include <cuda_fp16.h>\nextern \"C\" __global__ void reference(" + parameters +
           ") {\n  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;\n" + body + "\n}";
  }

  // Timed and right; the kernel too. False where the library is not there.
  static bool expect_ok(const InterleaveReply& reply, const std::string& library) {
    EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
    if (!reply.baseline || reply.timings.size() != 2) {
      ADD_FAILURE() << "no report";
      return false;
    }
    EXPECT_GE(reply.timings[0].samples_us.size(), 5u);
    if (reply.baseline->state == BaselineState::unavailable) {
      EXPECT_FALSE(reply.baseline->message.empty());
      EXPECT_TRUE(reply.timings[1].samples_us.empty());
      return false;
    }
    EXPECT_EQ(reply.baseline->state, BaselineState::ok) << reply.baseline->message;
    EXPECT_TRUE(reply.baseline->name.starts_with(library)) << reply.baseline->name;
    EXPECT_FALSE(reply.baseline->message.empty());
    EXPECT_EQ(reply.timings[1].samples_us.size(), reply.timings[0].samples_us.size());
    EXPECT_EQ(reply.timings[1].launches_per_sample, reply.timings[0].launches_per_sample);
    return true;
  }

  // c = alpha * op(a) * op(b) by a naive kernel in f64.
  InterleaveReply gemm(std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb, const std::string& alpha = "1",
                       const std::string& alpha_of_baseline = "") {
    const std::string text = code("float* c, const float* a, const float* b",
                                  fmt::format("  const long long m = {}, n = {}, k = {};\n  if (i >= m * n) return;\n"
                                              "  double sum = 0;\n  for (long long p = 0; p < k; ++p) sum += double(a[{}]) * b[{}];\n"
                                              "  c[i] = {} * sum;",
                                              m, n, k, ta ? "p * m + i / n" : "i / n * k + p", tb ? "i % n * k + p" : "p * n + i % n", alpha));
    return time(text, {typed("c", DType::f32, Access::out, m * n, 1e-6 * static_cast<double>(k)), typed("a", DType::f32, Access::in, m * k), typed("b", DType::f32, Access::in, k * n)},
                m * n, {"gemm", {0, 1, 2}, {{"m", std::to_string(m)}, {"n", std::to_string(n)}, {"k", std::to_string(k)},
                                            {"transpose_a", ta ? "1" : "0"}, {"transpose_b", tb ? "1" : "0"},
                                            {"alpha", alpha_of_baseline.empty() ? alpha : alpha_of_baseline}, {"beta", "0"}, {"math", "ieee"}}});
  }
};

TEST_F(Baseline, GemmIsRightInEachLayout) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      if (!expect_ok(gemm(129, 67, 65, ta, tb, "0.5"), "cuBLAS ")) GTEST_SKIP() << "no cuBLAS";
      expect_ok(gemm(1, 260, 64, ta, tb), "cuBLAS ");
      expect_ok(gemm(33, 1, 1000, ta, tb), "cuBLAS ");
    }
  }
}

TEST_F(Baseline, AWrongResultIsNotTimedAndTheKernelIs) {
  const InterleaveReply reply = gemm(129, 67, 65, false, false, "1", "2");
  ASSERT_TRUE(reply.baseline);
  if (reply.baseline->state == BaselineState::unavailable) GTEST_SKIP() << reply.baseline->message;
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
  EXPECT_EQ(reply.baseline->state, BaselineState::wrong_result);
  EXPECT_TRUE(has(reply.baseline->message, "c[0] is ")) << reply.baseline->message;
  EXPECT_EQ(reply.timings.at(0).samples_us.size(), 5u);
  EXPECT_TRUE(reply.timings.at(1).samples_us.empty());
}

TEST_F(Baseline, ParametersBeyondTheBuffersAreRefused) {
  const InterleaveReply reply = time(code("float* c, const float* a", "  if (i < 100) c[i] = a[i];"),
                                     {typed("c", DType::f32, Access::out, 100), typed("a", DType::f32, Access::in, 100)}, 100,
                                     {"scan", {0, 1}, {{"n", "101"}, {"kind", "inclusive"}}});
  ASSERT_TRUE(reply.baseline);
  if (reply.baseline->state == BaselineState::unavailable) GTEST_SKIP() << reply.baseline->message;
  EXPECT_EQ(reply.baseline->state, BaselineState::failed);
  EXPECT_TRUE(has(reply.baseline->message, "has 100 elements, the parameters need 101")) << reply.baseline->message;
}

TEST_F(Baseline, ReductionsAreRight) {
  constexpr std::int64_t n = 100003;
  const std::string count = std::to_string(n);
  const auto reduce = [&](const std::string& operation, const std::string& body, const char* type, DType in, double tolerance) {
    return time(code(fmt::format("{0}* c, const {0}* a", type), fmt::format("  if (i != 0) return;\n  const long long n = {};\n{}", n, body)),
                {typed("c", in, Access::out, 1, tolerance), typed("a", in, Access::in, n)}, 1,
                {"reduce", {0, 1}, {{"n", count}, {"operation", operation}}});
  };
  if (!expect_ok(reduce("sum", "  double s = 0; for (long long j = 0; j < n; ++j) s += a[j]; c[0] = s;", "float", DType::f32, 0.01), "CUB ")) {
    GTEST_SKIP() << "no module";
  }
  expect_ok(reduce("sum", "  double s = 0; for (long long j = 0; j < n; ++j) s += a[j]; c[0] = s;", "double", DType::f64, 1e-9), "CUB ");
  expect_ok(reduce("sum", "  int s = 0; for (long long j = 0; j < n; ++j) s += a[j]; c[0] = s;", "int", DType::i32, 0), "CUB ");
  // Accumulated in f32: the error is that of rounding the sum.
  expect_ok(reduce("sum", "  double s = 0; for (long long j = 0; j < n; ++j) s += __half2float(a[j]); c[0] = __float2half(s);", "__half", DType::f16, 0.5), "CUB ");
  expect_ok(reduce("max", "  float s = a[0]; for (long long j = 0; j < n; ++j) s = a[j] > s ? a[j] : s; c[0] = s;", "float", DType::f32, 0), "CUB ");
  expect_ok(reduce("min", "  int s = a[0]; for (long long j = 0; j < n; ++j) s = a[j] < s ? a[j] : s; c[0] = s;", "int", DType::i32, 0), "CUB ");
}

TEST_F(Baseline, ArgmaxGivesTheFirstPlaceWithOrWithoutTheValue) {
  constexpr std::int64_t n = 5000;  // of 19 values: the largest is there many times
  const std::string body = fmt::format("  if (i != 0) return;\n  long long at = 0;\n  for (long long j = 0; j < {}; ++j) if (a[j] > a[at]) at = j;\n", n);
  const Parameters parameters = {{"n", std::to_string(n)}, {"operation", "argmax"}};
  const InterleaveReply both = time(code("int* c, const int* a, long long* index", body + "  c[0] = a[at]; index[0] = at;"),
                                    {typed("c", DType::i32, Access::out, 1), typed("a", DType::i32, Access::in, n), typed("index", DType::i64, Access::out, 1)}, 1,
                                    {"reduce", {0, 1, 2}, parameters});
  if (!expect_ok(both, "CUB ")) GTEST_SKIP() << "no module";
  expect_ok(time(code("int* index, const int* a", body + "  index[0] = int(at);"), {typed("index", DType::i32, Access::out, 1), typed("a", DType::i32, Access::in, n)},
                 1, {"reduce", {0, 1}, parameters}),
            "CUB ");
}

TEST_F(Baseline, ScansAreRight) {
  constexpr std::int64_t n = 30011;
  const auto scan = [&](const std::string& kind, const char* type, const char* sum, DType dtype, double tolerance) {
    const std::string body = fmt::format("  if (i != 0) return;\n  {} s = 0;\n  for (long long j = 0; j < {}; ++j) {{ {} }}", sum, n,
                                         kind == "inclusive" ? "s += a[j]; c[j] = s;" : "c[j] = s; s += a[j];");
    return time(code(fmt::format("{0}* c, const {0}* a", type), body), {typed("c", dtype, Access::out, n, tolerance), typed("a", dtype, Access::in, n)}, 1,
                {"scan", {0, 1}, {{"n", std::to_string(n)}, {"kind", kind}}});
  };
  if (!expect_ok(scan("inclusive", "int", "int", DType::i32, 0), "CUB ")) GTEST_SKIP() << "no module";
  expect_ok(scan("exclusive", "int", "int", DType::i32, 0), "CUB ");
  expect_ok(scan("inclusive", "float", "double", DType::f32, 0.01), "CUB ");
  expect_ok(scan("exclusive", "double", "double", DType::f64, 1e-9), "CUB ");
}

TEST_F(Baseline, ConvolutionsAreRight) {
  // n c h w, k r s, pad; flipped or not.
  const auto conv = [&](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, std::int64_t k, std::int64_t r, std::int64_t pad, bool flip,
                        const std::vector<std::string>& only = {}) {
    const std::int64_t oh = h + 2 * pad - r + 1, ow = w + 2 * pad - r + 1;
    const std::string body = fmt::format(
        "  const int c = {}, h = {}, w = {}, k = {}, r = {}, pad = {}, oh = {}, ow = {};\n"
        "  if (i >= {}LL * k * oh * ow) return;\n  const int x = i % ow, y = i / ow % oh, f = i / (ow * oh) % k, b = i / (ow * oh * k);\n"
        "  double sum = 0;\n  for (int p = 0; p < c; ++p) for (int u = 0; u < r; ++u) for (int v = 0; v < r; ++v) {{\n"
        "    const int yy = y + u - pad, xx = x + v - pad;\n    if (yy < 0 || xx < 0 || yy >= h || xx >= w) continue;\n"
        "    sum += double(in[((b * c + p) * h + yy) * w + xx]) * filter[((f * c + p) * r + {}) * r + {}];\n  }}\n  out[i] = sum;",
        c, h, w, k, r, pad, oh, ow, n, flip ? "r - 1 - u" : "u", flip ? "r - 1 - v" : "v");
    const std::int64_t results = n * k * oh * ow;
    return time(code("float* out, const float* in, const float* filter", body),
                {typed("out", DType::f32, Access::out, results, 2e-6 * static_cast<double>(c * r * r)), typed("in", DType::f32, Access::in, n * c * h * w),
                 typed("filter", DType::f32, Access::in, k * c * r * r)},
                results,
                {"conv2d", {0, 1, 2}, {{"n", std::to_string(n)}, {"c", std::to_string(c)}, {"h", std::to_string(h)}, {"w", std::to_string(w)},
                                       {"k", std::to_string(k)}, {"r", std::to_string(r)}, {"s", std::to_string(r)}, {"pad_h", std::to_string(pad)},
                                       {"pad_w", std::to_string(pad)}, {"flip", flip ? "1" : "0"}, {"math", "ieee"}}, only});
  };
  if (!expect_ok(conv(1, 1, 100, 70, 1, 5, 0, false), "cuDNN ")) GTEST_SKIP() << "no cuDNN";
  expect_ok(conv(1, 1, 100, 70, 1, 5, 0, true), "cuDNN ");
  expect_ok(conv(2, 8, 14, 14, 16, 3, 1, false), "cuDNN ");
  // An algorithm that is named is taken, and no other is looked at; where none of the named ones is there, all are.
  const InterleaveReply named = conv(2, 8, 14, 14, 16, 3, 1, false, {"IMPLICIT_GEMM"});
  expect_ok(named, "cuDNN ");
  EXPECT_EQ(named.baseline->message, "IMPLICIT_GEMM");
  EXPECT_EQ(named.baseline->fast, std::vector<std::string>{"IMPLICIT_GEMM"});
  expect_ok(conv(2, 8, 14, 14, 16, 3, 1, false, {"NO_SUCH"}), "cuDNN ");
}

TEST_F(Baseline, ACopyNeedsNoModule) {
  constexpr std::int64_t n = (1 << 20) + 3;
  const InterleaveReply reply = time(code("float* c, const float* a", fmt::format("  if (i < {}) c[i] = -a[i];", n)),
                                     {typed("c", DType::f32, Access::out, n), typed("a", DType::f32, Access::in, n)}, n, {"copy", {0, 1}, {}});
  ASSERT_TRUE(expect_ok(reply, "device copy"));
  // 8 MiB at any GPU's bandwidth, and as fast as a kernel of this kind within a factor.
  const double kernel = median(reply.timings[0].samples_us), copy = median(reply.timings[1].samples_us);
  EXPECT_LT(copy, 2 * kernel);
  EXPECT_GT(copy, 0.3 * kernel);
}

TEST_F(Baseline, WhatTheModuleHasNotIsSaid) {
  const InterleaveReply reply = time(code("float* c, const float* a", "  if (i < 100) c[i] = a[i];"),
                                     {typed("c", DType::f32, Access::out, 100), typed("a", DType::f32, Access::in, 100)}, 100, {"sort", {0, 1}, {}});
  EXPECT_FALSE(expect_ok(reply, ""));
  EXPECT_EQ(reply.baseline->state, BaselineState::unavailable);
}

}  // namespace
}  // namespace tunebook
