// --lock-clocks with a real GPU for the kernels and a fake NVML for the clocks: those of the GPU stay as they are.

#include <cstdlib>
#include <string>

#include <stdlib.h>  // setenv

#include <gtest/gtest.h>

#include "compile_support.h"
#include "fake_nvml_support.h"
#include "session/device_executor.h"

namespace tunebook {
namespace {

class LockedSession : public FakeNvmlTest {
 protected:
  void SetUp() override {
    const Hello hello = make_cuda_runner("cuda:0")->hello();
    if (!hello.error.empty()) GTEST_SKIP() << "no GPU: " << hello.error;
    ::setenv("TUNEBOOK_WORKER_DIR", TUNEBOOK_BIN_DIR, 1);
    ::setenv("FAKE_NVML_PCI", hello.environment.at("pci").get<std::string>().c_str(), 1);
  }
  PrivateCache cache_;
};

TEST_F(LockedSession, MethodAndEnvironmentSayItAndTheClockIsResetAtTheEnd) {
  const KernelTemplate kernel = find_template("matmul", {std::string(TUNEBOOK_SOURCE_DIR) + "/templates"});
  DeviceExecutorOptions options;
  options.device = DeviceChoice::parse("cuda:0");
  options.compile_workers = 1;
  options.lock_clocks_mhz = 1500;
  ::setenv("FAKE_NVML_REASONS", "0x4", 1);
  {
    DeviceExecutor executor(kernel, options);
    EXPECT_EQ(log(), "lock 1500 1500\n");
    EXPECT_EQ(executor.identity().method, "cold/2@1500MHz");
    EXPECT_EQ(executor.identity().environment.value("locked_sm_clock_mhz", 0), 1500);
    EXPECT_EQ(executor.identity().environment.value("max_sm_clock_mhz", 0), 1980) << "the fake is not the one that is asked";
    executor.set_problem(kernel.spec.parse_shape("256,256,256"));
    const Examination examination = executor.examine(*kernel.spec.find_preset("default"));
    EXPECT_EQ(examination.trial.outcome, Outcome::ok) << examination.trial.message;
    // A device that is throttled for ever: batches were taken again, and in the end the last ones kept.
    EXPECT_EQ(examination.trial.conditions.throttled, "power cap");
    EXPECT_GT(examination.trial.conditions.retaken_batches, 0);
    EXPECT_GE(examination.trial.samples_us.size(), 5u);
    EXPECT_EQ(examination.trial.conditions.sm_clock_mhz, 1500);
    EXPECT_EQ(log(), "lock 1500 1500\n");
  }
  EXPECT_EQ(log(), "lock 1500 1500\nreset\n");
}

}  // namespace
}  // namespace tunebook
