// Kernels of which one configuration is bad: it ends as one trial with its typed outcome, and a good one wins.
#include "fault_cases.h"

namespace tunebook::test {
namespace {

class Fault : public FaultTest {
 protected:
  Fault() : FaultTest("cpu") {}
};

TEST_F(Fault, DoesNotCompile) { expect_one_bad_trial("does_not_compile", "compile_error", "this configuration is meant not to compile"); }
TEST_F(Fault, IllegalAddress) { expect_one_bad_trial("illegal_address", "fault", "illegal access in thread ("); }
TEST_F(Fault, InfiniteLoop) { expect_one_bad_trial("infinite_loop", "run_timeout", "did not end within"); }
// n=1000 is verified first: its last 1000 % 256 elements are left out, from 768 on.
TEST_F(Fault, WrongWhenRagged) { expect_one_bad_trial("wrong_when_ragged", "wrong_result", "n=1000: y[768] is "); }

}  // namespace
}  // namespace tunebook::test
