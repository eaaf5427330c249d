#pragma once

#include <string>
#include <utility>

#include "cli_support.h"

namespace tunebook::test {

// Kernels of which one configuration is bad, tuned on one device.
class FaultTest : public CliTest {
 protected:
  explicit FaultTest(std::string device) : device_(std::move(device)) {}

  // The bad configuration ends as one trial with its typed outcome and a message that contains `message`; a good one wins, and no
  // process is left.
  void expect_one_bad_trial(const std::string& kernel, const std::string& outcome, const std::string& message);

 private:
  std::string device_;
};

}  // namespace tunebook::test
