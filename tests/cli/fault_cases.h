#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "cli_support.h"

namespace tunebook::test {

// How the bad configuration of a kernel ends on one device.
struct Ending {
  std::string outcome;
  std::string message;     // a part of it
  std::string not_shown;   // not empty: why this device cannot show the fault
};

// A kernel in tests/faults/: 20 good configurations (BAD = 0), a bad one (1) and its good twin (2), which looks nearly the same.
struct FaultCase {
  std::string kernel;
  Ending cpu, gpu;
  std::string shape = "n=4096";
  bool whole_space = false;  // else four of the good ones and the default preset
};
std::ostream& operator<<(std::ostream& stream, const FaultCase& fault);

const std::vector<FaultCase>& fault_cases();

// Tunes such kernels on one device.
class FaultTest : public CliTest {
 protected:
  explicit FaultTest(std::string device) : device_(std::move(device)) {}

  // The bad configuration ends as one trial, as `ending` says and in time; all others are measured, one of them wins, and no process
  // is left.
  void expect_one_bad_trial(const FaultCase& fault, const Ending& ending);

  // A problem whose buffers cannot be had ends the session with one message, and what the book held before is still there.
  void expect_problem_too_large();

 private:
  std::vector<std::string> tune_arguments(const std::string& kernel, const std::string& shape, const std::string& where) const;

  std::string device_;
};

}  // namespace tunebook::test
