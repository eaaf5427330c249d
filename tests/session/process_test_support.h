#pragma once

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "session/worker_process.h"

namespace tunebook {

inline WorkerCommand fake_worker(WorkerRole role, const std::string& how_it_starts = "") {
  WorkerCommand command;
  command.program = std::string(TUNEBOOK_BIN_DIR) + "/tunebook-fake-worker";
  command.role = role;
  if (!how_it_starts.empty()) command.environment = {{"FAKE_START", how_it_starts}};
  return command;
}

// Each test ends without children, running or zombie: whatever is orphaned comes to us.
class ProcessTest : public testing::Test {
 protected:
  ProcessTest() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  void TearDown() override {
    // The guard of a worker's group ends right after the worker does.
    pid_t found = 0;
    for (int i = 0; i < 500 && found >= 0; ++i) {
      found = ::waitpid(-1, nullptr, WNOHANG);
      if (found == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(found, -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
  }

  // Waits for an orphan to end; false if it still lives after a few seconds.
  static bool reap_orphan(pid_t pid) {
    for (int i = 0; i < 300; ++i) {
      const pid_t found = ::waitpid(pid, nullptr, WNOHANG);
      if (found == pid) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
};

// The pid in the fake worker's line "child PID".
inline pid_t child_pid(const std::string& error_output) {
  const std::size_t at = error_output.find("child ");
  return at == std::string::npos ? -1 : std::stoi(error_output.substr(at + 6));
}

}  // namespace tunebook
