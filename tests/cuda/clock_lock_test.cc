// The whole way of --lock-clocks, through the worker program, with a fake NVML.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/error.h"
#include "fake_nvml_support.h"
#include "session/clock_lock.h"

namespace tunebook {
namespace {

class ClockLocking : public FakeNvmlTest {
 protected:
  // Waits for the reset by a process that is not ours.
  bool reset_comes() const {
    for (int i = 0; i < 500; ++i) {
      if (log().ends_with("reset\n")) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  std::string refusal(int mhz, const std::string& pci) const {
    try {
      const ClockLock lock(program_, mhz, pci, "");
    } catch (const EnvironmentError& error) {
      return error.what();
    }
    return "";
  }
  const std::string program_ = std::string(TUNEBOOK_BIN_DIR) + "/tunebook-cuda-worker";
};

TEST_F(ClockLocking, LastsAsLongAsTheObject) {
  {
    const ClockLock lock(program_, 1500, kPci, kUuid);
    EXPECT_EQ(log(), "lock 1500 1500\n");
  }
  EXPECT_EQ(log(), "lock 1500 1500\nreset\n");
}

TEST_F(ClockLocking, IsResetWhenTheProgramIsKilled) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const ClockLock lock(program_, 1410, kPci, kUuid);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(reset_comes()) << log();
  EXPECT_EQ(log(), "lock 1410 1410\nreset\n");
}

TEST_F(ClockLocking, IsResetWhenTheHolderIsAskedToEnd) {
  const ClockLock lock(program_, 1200, kPci, kUuid);
  ::kill(lock.holder(), SIGTERM);
  EXPECT_TRUE(reset_comes()) << log();
}

TEST_F(ClockLocking, WithoutPermissionIsOneClearMessage) {
  ::setenv("FAKE_NVML_DENY", "1", 1);
  const std::string message = refusal(1500, kPci);
  EXPECT_NE(message.find("--lock-clocks 1500: locking clocks needs administrator rights"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_EQ(log(), "");
}

TEST_F(ClockLocking, UnknownGpuAndMissingLibrary) {
  EXPECT_NE(refusal(1500, "0000:99:00.0").find("NVML does not know the GPU at 0000:99:00.0"), std::string::npos);
  ::setenv("TUNEBOOK_NVML", "/nowhere/libnvidia-ml.so.1", 1);
  EXPECT_NE(refusal(1500, kPci).find("no NVML"), std::string::npos);
  EXPECT_EQ(log(), "");
}

TEST_F(ClockLocking, ProgramThatCannotBeStarted) {
  try {
    const ClockLock lock("/nowhere/worker", 1500, kPci, kUuid);
    FAIL() << "no error";
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("--lock-clocks"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tunebook
