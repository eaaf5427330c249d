#pragma once

// Runs kernels on the first GPU through the backend classes; skips where there is none.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compile_support.h"

namespace tunebook {

inline constexpr const char* kReference = R"(
extern "C" __global__ void reference(float* c, const float* a, const float* b, long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
})";

inline std::string candidate(const std::string& body) {
  return "extern \"C\" __global__ void k(float* c, float* a, const float* b, long long n) {\n"
         "  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;\n" +
         body + "\n}";
}

// The problems: c = a + b of several sizes.
class RunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runner_ = make_cuda_runner("cuda:0");
    hello_ = runner_->hello();
    if (!hello_.error.empty()) GTEST_SKIP() << "no GPU: " << hello_.error;
    compiler_ = make_cuda_compiler();
    ASSERT_EQ(compiler_->hello().error, "");
    set_up_problems();
  }

  CompileReply compile(const std::string& text, const std::string& entry) {
    CompileReply reply = compiler_->compile(compile_request(text, entry, hello_.native_arch));
    EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
    return reply;
  }

  static ArgumentSetup buffer(std::string name, Argument::Access access, std::int64_t count, std::uint64_t seed) {
    ArgumentSetup argument;
    argument.name = std::move(name);
    argument.pointer = true;
    argument.count = count;
    argument.access = access;
    argument.seed = seed;
    if (access != Argument::Access::out) argument.fill = {Fill::Kind::uniform, -1, 1, "uniform(-1, 1)"};
    argument.rel = access == Argument::Access::in ? 0 : 1e-6;
    return argument;
  }

  static ProblemSetup problem(std::int64_t number, std::int64_t n, const CompileReply& reference,
                              Argument::Access out = Argument::Access::out) {
    ProblemSetup setup;
    setup.problem = number;
    setup.display = "n=" + std::to_string(n);
    setup.arguments = {buffer("c", out, n, 3), buffer("a", Argument::Access::in, n, 1), buffer("b", Argument::Access::in, n, 2)};
    ArgumentSetup size;
    size.name = "n";
    size.dtype = DType::i64;
    size.integer = n;
    setup.arguments.push_back(size);
    setup.reference = {reference.artifact, reference.symbol, shape(n)};
    return setup;
  }

  static LaunchShape shape(std::int64_t n, std::int64_t shared_bytes = 0) {
    LaunchShape shape;
    shape.block = {256, 1, 1};
    shape.grid = {(n + 255) / 256, 1, 1};
    shape.shared_bytes = shared_bytes;
    return shape;
  }

  void set_up_problems(Argument::Access out = Argument::Access::out, const char* reference_text = kReference) {
    const CompileReply reference = compile(reference_text, "reference");
    SetupRequest request;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      request.problems.push_back(problem(static_cast<std::int64_t>(i), sizes_[i], reference, out));
    }
    const SetupReply reply = runner_->setup(request, stage());
    ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  }

  StageCallback stage() {
    return [this](const std::string& what) { stages_.push_back(what); };
  }

  ProblemLaunch launch(const CompileReply& compiled, std::size_t number, std::int64_t shared_bytes = 0) const {
    return {static_cast<std::int64_t>(number), {{compiled.artifact, compiled.symbol, shape(sizes_[number], shared_bytes)}}, nondeterministic_, restore_};
  }

  RunReply run(const std::string& text, bool timed = false, std::int64_t shared_bytes = 0) {
    const CompileReply compiled = compile(text, "k");
    RunRequest request;
    request.id = 5;
    for (std::size_t i = 0; i < sizes_.size(); ++i) request.verify.push_back(launch(compiled, i, shared_bytes));
    if (timed) request.time = launch(compiled, 0, shared_bytes);
    request.timing = plan_;
    return runner_->run(request, stage());
  }

  void expect_good() {
    const RunReply reply = run(good_);
    EXPECT_EQ(reply.outcome, Outcome::ok) << "after the fault: " << reply.message;
  }

  PrivateCache cache_;
  bool nondeterministic_ = false;
  bool restore_ = false;
  std::unique_ptr<RunnerBackend> runner_;
  std::unique_ptr<CompilerBackend> compiler_;
  Hello hello_;
  std::vector<std::int64_t> sizes_ = {1 << 20, 1, 1023, 65537};
  std::vector<std::string> stages_;
  TimingPlan plan_;
  const std::string good_ = candidate("if (i < n) c[i] = a[i] + b[i];");
};

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace tunebook
