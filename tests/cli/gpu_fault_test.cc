// The cases of fault_test.cc on the first GPU. One of them: --gtest_filter='*/trap'.
#include <string>

#include "fault_cases.h"

namespace tunebook::test {
namespace {

class GpuFaultTest : public FaultTest {
 protected:
  GpuFaultTest() : FaultTest("cuda:0") {}

  void SetUp() override {
    const std::string reason = why_unusable();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }

 private:
  // "" if the GPU can be used.
  std::string why_unusable() {
    const auto listing = run_json({"devices", "--json"});
    for (const auto& device : listing["devices"]) {
      if (device["id"] == "cuda:0") return device["usable"].get<bool>() ? "" : device["error"].get<std::string>();
    }
    return "tunebook devices lists no cuda:0";
  }
};

class GpuFault : public GpuFaultTest, public testing::WithParamInterface<FaultCase> {};

TEST_P(GpuFault, CostsOneTrial) {
  const Ending& ending = GetParam().gpu;
  if (!ending.not_shown.empty()) GTEST_SKIP() << ending.not_shown;
  expect_one_bad_trial(GetParam(), ending);
}

INSTANTIATE_TEST_SUITE_P(Kit, GpuFault, testing::ValuesIn(fault_cases()), [](const auto& test) { return test.param.kernel; });

using GpuFaultOfProblem = GpuFaultTest;
TEST_F(GpuFaultOfProblem, TooMuchMemory) { expect_problem_too_large(); }

}  // namespace
}  // namespace tunebook::test
