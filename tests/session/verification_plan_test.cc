#include "session/verification_plan.h"

#include <string>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

class VerificationPlanTest : public testing::Test {
 protected:
  VerificationPlan plan(const std::string& shape) const { return {kernel_, kernel_.spec.parse_shape(shape), KernelSpec::generic_device(), 3}; }
  VerificationPlan::Candidate candidate(const std::string& shape, const std::string& configuration) const {
    return plan(shape).candidate(kernel_.spec.parse_configuration(configuration));
  }

  const KernelTemplate kernel_ = load_template(TUNEBOOK_SOURCE_DIR "/tests/data/verify_kernels/column_sums");
};

TEST_F(VerificationPlanTest, RestoreAndNondeterministicAreOfTheConfiguration) {
  for (const bool atomic : {false, true}) {
    const auto found = candidate("300,256", atomic ? "BLOCK=64,ATOMIC=1" : "BLOCK=64,ATOMIC=0");
    ASSERT_EQ(found.outcome, Outcome::ok) << found.message;
    ASSERT_EQ(found.verify.size(), 4U);
    for (const auto& applicable : found.verify) {
      const ProblemLaunch launch = applicable.with({});
      EXPECT_EQ(launch.restore, atomic);
      EXPECT_EQ(launch.nondeterministic, atomic);
    }
  }
}

TEST_F(VerificationPlanTest, ExcludedProblemsAreCounted) {
  EXPECT_EQ(candidate("300,256", "BLOCK=64,ATOMIC=0").skipped_problems, 0);
  const auto wide = candidate("300,256", "BLOCK=128,ATOMIC=0");  // none of the small ones has a multiple of 128 columns
  EXPECT_EQ(wide.outcome, Outcome::ok);
  EXPECT_EQ(wide.skipped_problems, 3);
  EXPECT_EQ(wide.verify.size(), 1U);
  EXPECT_EQ(candidate("300,255", "BLOCK=128,ATOMIC=0").outcome, Outcome::invalid);
}

TEST_F(VerificationPlanTest, ResultsOfATypeOfTheirOwnHaveItsTolerance) {
  for (const char* shape : {"300,256,dtype=f32", "300,256,dtype=f64"}) {
    const SetupRequest setup = plan(shape).setup({}, true);
    EXPECT_EQ(setup.problems.at(0).arguments.at(0).rel, 0x1p-23) << shape;
    EXPECT_EQ(setup.problems.at(0).arguments.at(0).abs, 600 * 0x1p-24) << shape;
  }
}

TEST_F(VerificationPlanTest, InputsDifferByProblemArgumentAndSeed) {
  const SetupRequest setup = plan("300,256").setup({}, false);
  ASSERT_EQ(setup.problems.size(), 4U);
  EXPECT_NE(setup.problems[0].arguments[1].seed, setup.problems[1].arguments[1].seed);
  EXPECT_NE(setup.problems[0].arguments[0].seed, setup.problems[0].arguments[1].seed);
  const VerificationPlan other(kernel_, kernel_.spec.parse_shape("300,256"), KernelSpec::generic_device(), 4);
  EXPECT_NE(setup.problems[0].arguments[1].seed, other.setup({}, true).problems[0].arguments[1].seed);
  EXPECT_EQ(setup.problems[0].arguments[1].seed, plan("300,256").setup({}, true).problems[0].arguments[1].seed);
}

}  // namespace
}  // namespace tunebook
