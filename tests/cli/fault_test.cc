// Kernels of which one configuration is bad, on the cpu. One of them: --gtest_filter='*/trap'.
#include <fstream>

#include "fault_cases.h"

namespace tunebook::test {
namespace {

class Fault : public FaultTest, public testing::WithParamInterface<FaultCase> {
 protected:
  Fault() : FaultTest("cpu") {}
};

TEST_P(Fault, CostsOneTrial) {
  const Ending& ending = GetParam().cpu;
  if (!ending.not_shown.empty()) GTEST_SKIP() << ending.not_shown;
  expect_one_bad_trial(GetParam(), ending);
}

INSTANTIATE_TEST_SUITE_P(Kit, Fault, testing::ValuesIn(fault_cases()), [](const auto& test) { return test.param.kernel; });

class FaultOfProblem : public FaultTest {
 protected:
  FaultOfProblem() : FaultTest("cpu") {}
};

TEST_F(FaultOfProblem, TooMuchMemory) {
  int overcommit = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> overcommit;
  if (overcommit == 1) GTEST_SKIP() << "this machine promises memory that it does not have (vm.overcommit_memory = 1)";
  expect_problem_too_large();
}

}  // namespace
}  // namespace tunebook::test
