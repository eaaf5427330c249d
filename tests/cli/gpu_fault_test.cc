// The cases of fault_test.cc on the first GPU.
#include <string>

#include "fault_cases.h"

namespace tunebook::test {
namespace {

class GpuFault : public FaultTest {
 protected:
  GpuFault() : FaultTest("cuda:0") {}

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

TEST_F(GpuFault, DoesNotCompile) { expect_one_bad_trial("does_not_compile", "compile_error", "this configuration is meant not to compile"); }
TEST_F(GpuFault, IllegalAddress) { expect_one_bad_trial("illegal_address", "fault", "cudaErrorIllegalAddress"); }
TEST_F(GpuFault, InfiniteLoop) { expect_one_bad_trial("infinite_loop", "run_timeout", "did not end within"); }
// n=1000 is verified first: its last 1000 % 256 elements are left out, from 768 on.
TEST_F(GpuFault, WrongWhenRagged) { expect_one_bad_trial("wrong_when_ragged", "wrong_result", "n=1000: y[768] is "); }

}  // namespace
}  // namespace tunebook::test
