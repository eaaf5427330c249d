#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "cli_support.h"

namespace tunebook::test {

// Watches the workers of a running tunebook.
class WorkerWatch : public CliTest {
 protected:
  // Processes of this test that run as "--role ROLE".
  std::vector<pid_t> workers(const std::string& role) const {
    std::vector<pid_t> found;
    for (const pid_t pid : processes_left()) {
      const std::string line = read_file("/proc/" + std::to_string(pid) + "/cmdline");
      if (line.find(std::string("--role") + '\0' + role + '\0') != std::string::npos) found.push_back(pid);
    }
    return found;
  }
  template <class Condition>
  static bool wait_for(const Condition& condition, double seconds = 60) {
    const auto start = std::chrono::steady_clock::now();
    while (!condition()) {
      if (std::chrono::steady_clock::now() - start > std::chrono::duration<double>(seconds)) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }
};

// The coordinator is killed while a kernel of it loops for ever.
class EndlessKernel : public WorkerWatch {
 protected:
  void expect_nothing_left(const std::string& device) {
    RunningProgram program = start({"run", "infinite_loop", "--templates", fault_kernels(), "--shape", "4096", "--device", device,
                                    "--config", "BLOCK=256,WASTE=0,BAD=1", "--run-timeout", "600"});
    // The compile is over when its compiler has written to the cache; from then on the kernel loops within a moment.
    ASSERT_TRUE(wait_for([&] { return cached_artifacts() >= 2; }));  // the reference and the kernel
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    EXPECT_FALSE(workers("runner").empty());
    program.send(SIGKILL);
    EXPECT_EQ(program.wait(30).signal, SIGKILL);
    EXPECT_TRUE(all_gone());
  }

 private:
  std::size_t cached_artifacts() const {
    std::size_t count = 0;
    std::error_code ignored;
    for (auto entry = std::filesystem::recursive_directory_iterator(folder() / "cache", ignored);
         entry != std::filesystem::recursive_directory_iterator(); entry.increment(ignored)) {
      if (ignored) break;
      if (entry->path().extension() == ".json") ++count;
    }
    return count;
  }
};

}  // namespace tunebook::test
