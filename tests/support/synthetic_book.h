#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/device.h"
#include "core/problem.h"

namespace tunebook::testing {

// A book for measuring lookups, filled by direct inserts: each of `kernels` kernels has a winner for each of `problems` problems on each
// of `devices` devices.
struct SyntheticBook {
  int kernels = 1, devices = 1, problems = 1;
  std::int64_t trials = 0;   // spread evenly over the sessions
  bool published = false;    // else a working book, in WAL mode

  std::int64_t winners() const { return std::int64_t{kernels} * devices * problems; }
  static std::string kernel_name(int kernel);
  static Device device(int device);             // two of each compute capability
  // Different for each number; those from `problems` on are in no book.
  static Problem problem(int number);
  void write(const std::filesystem::path& path) const;
};

}  // namespace tunebook::testing
