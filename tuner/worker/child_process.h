#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tunebook {

struct ChildResult {
  int exit_code = -1;      // -1: ended by a signal
  int signal = 0;
  std::string output;      // stdout and stderr together, the first `max_output` bytes
};

// Runs a program (searched in PATH if it has no slash) and waits for it. No shell; standard input is /dev/null; it stays in the
// caller's process group and inherits no other file descriptor. `environment` entries "NAME=value" are added to the caller's.
// Throws EnvironmentError if it cannot be started.
ChildResult run_child(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {},
                      std::size_t max_output = std::size_t{1} << 20);

}  // namespace tunebook
