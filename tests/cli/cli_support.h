#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tunebook::test {

struct ProgramResult {
  int exit_code = -1;               // -1: ended by a signal
  int signal = 0;
  bool timed_out = false;           // killed by the test
  std::string out, err;
  std::int64_t peak_memory_bytes = 0;
};

// A running tunebook. It is killed if it is never waited for.
class RunningProgram {
 public:
  RunningProgram(pid_t pid, std::filesystem::path out, std::filesystem::path err);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  ProgramResult wait(double timeout_s = 120);

 private:
  pid_t pid_;
  bool waited_ = false;
  std::filesystem::path out_, err_;
};

// A temporary folder with its own book, cache and home, in which tunebook is run as a user would run it. What the tests leave
// is removed with it.
class CliTest : public testing::Test {
 protected:
  CliTest();
  ~CliTest() override;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path book() const { return folder_ / "book.db"; }
  // Added to the environment of every program started from here on.
  void set_environment(const std::string& name, const std::string& value) { environment_[name] = value; }

  RunningProgram start(const std::vector<std::string>& arguments);
  ProgramResult run(const std::vector<std::string>& arguments, double timeout_s = 120);
  // With stdout in another file; `out` of the result is empty.
  ProgramResult run_into(const std::filesystem::path& out, const std::vector<std::string>& arguments);
  // Programs started from here on have neither stdin, stdout nor stderr.
  void set_standard_descriptors_closed() { closed_ = true; }
  // Exit code 0 and exactly one JSON object on one line of stdout.
  nlohmann::ordered_json run_json(const std::vector<std::string>& arguments, double timeout_s = 120);
  // Exit code 2, nothing on stdout, no book made, and one message on stderr that contains all of these.
  void expect_bad_input(const std::vector<std::string>& arguments, const std::vector<std::string>& parts);

  // Writes a file below the folder and returns its path.
  std::filesystem::path write(const std::string& name, const std::string& content);
  // Living processes that were started from this folder by the program: workers, compilers.
  std::vector<pid_t> processes_left() const;
  // True once none is left; waits a few seconds.
  bool all_gone() const;

 private:
  std::filesystem::path folder_;
  std::map<std::string, std::string> environment_;
  std::filesystem::path out_;  // empty: a file for each run
  bool closed_ = false;
  int runs_ = 0;
};

nlohmann::ordered_json parse_one_line(const std::string& out);
std::vector<std::string> keys_of(const nlohmann::ordered_json& object);
std::string read_file(const std::filesystem::path& path);

// The test kernels: a user's own, and those with one bad configuration.
std::string user_kernels();
std::string fault_kernels();

// "" if the program was built with a CUDA compile worker, else why CUDA cannot be compiled for here.
std::string no_cuda_compiler();

}  // namespace tunebook::test
