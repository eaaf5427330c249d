// matmul's tolerance on the cpu device: other orders of summation pass, lower precision fails, at every size.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/json_text.h"
#include "core/template_folder.h"
#include "cpu/kernel_fixture.h"
#include "session/verification_plan.h"

namespace tunebook::test {
namespace {

class MatmulTolerance : public testing::Test {
 protected:
  // Sets up the shape, and the small problems of the declaration unless `alone`.
  void set_problem(const std::string& shape, std::uint64_t seed = 0, bool alone = true) {
    const Problem problem = matmul_.spec.parse_shape(shape);
    plan_.emplace(matmul_, problem, *runner_.hello().device, seed);
    CompileRequest reference;
    reference.arch = "cpu";
    reference.source = matmul_.reference;
    reference.instantiation = instantiate_reference(matmul_.spec, problem);
    const CompileReply compiled = compiler().compile(reference);
    ASSERT_EQ(compiled.outcome, Outcome::ok) << compiled.message;
    const SetupRequest request = plan_->setup(compiled, alone);
    problems_.clear();
    for (const ProblemSetup& setup : request.problems) problems_[setup.problem] = setup;
    const SetupReply reply = runner_.setup(request, [](const std::string&) {});
    ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  }

  RunReply verify(const std::string& kernel, std::int64_t problem = 0) {
    const std::int64_t elements = problems_.at(problem).arguments.front().count;
    ProblemLaunch launch;
    launch.problem = problem;
    launch.launches = {{artifact(kernel), kCpuEntrySymbol, shape({(elements + 63) / 64, 1, 1}, {64, 1, 1})}};
    RunRequest request;
    request.verify = {launch};
    return runner_.run(request, [](const std::string&) {});
  }

  void expect_right(const std::string& kernel, std::int64_t problem = 0) {
    const RunReply reply = verify(kernel, problem);
    EXPECT_EQ(reply.outcome, Outcome::ok) << kernel << ": " << reply.message;
  }
  void expect_wrong(const std::string& kernel, std::int64_t problem = 0) {
    const RunReply reply = verify(kernel, problem);
    EXPECT_EQ(reply.outcome, Outcome::wrong_result)
        << kernel << " on " << problems_.at(problem).display << ": " << reply.message << ", at most " << reply.verification.max_error;
  }

  static std::vector<std::string> orders(const std::string& type, const std::string& sum) {
    std::vector<std::string> kernels;
    for (const char* order : {"kForward", "kReversed", "kBlocked", "kPairwise", "kFourSums"}) {
      kernels.push_back(fmt::format("ordered<{}, {}, {}>", type, sum, order));
    }
    return kernels;
  }
  static std::vector<std::string> f32_orders() {
    std::vector<std::string> kernels = orders("float", "float");
    kernels.emplace_back("not_fused");
    return kernels;
  }

  std::map<std::int64_t, ProblemSetup> problems_;

 private:
  std::string artifact(const std::string& kernel) {
    const auto [position, added] = artifacts_.try_emplace(kernel);
    if (added) position->second = compile(read_text_file(TUNEBOOK_SOURCE_DIR "/tests/data/matmul_variants/kernel.cu"), kernel);
    return position->second;
  }

  static inline std::map<std::string, std::string> artifacts_;
  const KernelTemplate matmul_ = load_template(TUNEBOOK_SOURCE_DIR "/templates/matmul");
  CpuRunner runner_{2};
  std::optional<VerificationPlan> plan_;
};

TEST_F(MatmulTolerance, EveryDeclaredSizeTellsTf32FromOrders) {
  set_problem("96,80,112", 0, false);
  EXPECT_EQ(problems_.size(), 16U);
  for (const auto& [id, setup] : problems_) {
    SCOPED_TRACE(setup.display);
    expect_wrong("tf32", id);
    for (const std::string& kernel : f32_orders()) expect_right(kernel, id);
  }
}

// The deepest is where TF32 comes nearest to what sums in f32 may be off by.
TEST_F(MatmulTolerance, EveryDepthTellsTf32FromOrders) {
  for (const char* shape : {"3,5,2", "3,5,16", "3,5,64", "3,5,1024", "3,5,4096", "3,5,65536", "8,8,1048576"}) {
    for (const std::uint64_t seed : {0, 1}) {
      SCOPED_TRACE(fmt::format("{} seed {}", shape, seed));
      set_problem(shape, seed);
      expect_wrong("tf32");
      for (const std::string& kernel : f32_orders()) expect_right(kernel);
    }
  }
}

// One product: TF32 is right by chance when both roundings are small or cancel, for 0.8 % of the inputs (2^-24 of absolute and of
// relative error against 2^-11 or so). A candidate is verified on the other sizes too, so that none gets through by this.
TEST_F(MatmulTolerance, OneProductTellsTf32ForAlmostEverySeed) {
  constexpr int kSeeds = 300;
  int missed = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    set_problem("1,1,1", static_cast<std::uint64_t>(seed));
    missed += verify("tf32").outcome == Outcome::ok ? 1 : 0;
    expect_right("ordered<float, float, kForward>");
  }
  EXPECT_LE(missed, 9);  // 2.4 expected; more than 9 has a chance of 0.0003
}

TEST_F(MatmulTolerance, SumsInHalfPrecisionFailForHalf) {
  for (const char* shape : {"7,9,64,dtype=f16", "7,9,1024,dtype=f16", "7,9,4096,dtype=f16", "3,5,65536,dtype=f16"}) {
    SCOPED_TRACE(shape);
    set_problem(shape);
    expect_wrong("half_sums");
    for (const std::string& kernel : orders("__half", "float")) expect_right(kernel);
  }
}

TEST_F(MatmulTolerance, SumsInSinglePrecisionFailForDouble) {
  for (const char* shape : {"1,1,1,dtype=f64", "3,5,7,dtype=f64", "3,5,1024,dtype=f64", "3,5,65536,dtype=f64"}) {
    SCOPED_TRACE(shape);
    set_problem(shape);
    expect_wrong("ordered<double, float, kForward>");
    expect_wrong("ordered<double, float, kPairwise>");
    for (const std::string& kernel : orders("double", "double")) expect_right(kernel);
  }
}

}  // namespace
}  // namespace tunebook::test
