#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/outcome.h"
#include "core/problem.h"
#include "core/spec.h"

namespace tunebook {

// The newest measurement of one configuration on one problem.
struct TrainingTrial {
  std::uint32_t problem = 0, configuration = 0;  // indices into the group's
  Outcome outcome = Outcome::ok;
  double median_us =
      0;  // ok and abandoned: positive and finite (abandoned: it takes at least so long); else 0
  std::int64_t registers = -1;     // per thread; -1: not known
  std::int64_t shared_bytes = -1;  // static and dynamic, of one block; -1: not known
  bool verified = false;  // it was checked against the reference; recorded times of a replay and an
                          // application's own count as checked
  std::string recorded_utc;
};

// All that a book knows of one kernel version, device, data type and method: what one model of time
// learns from.
struct TrainingGroup {
  std::int64_t kernel = 0, device_row = 0;  // rows of their tables
  std::string name, kernel_hash;
  KernelSpec spec;
  Device device;
  std::string dtype;                          // "" where the kernel has no such dimension
  std::string method;                         // "cold/2"
  std::vector<Problem> problems;              // in declared order, ascending by canonical text
  std::vector<Configuration> configurations;  // likewise
  // Whether a configuration was found to be wrong with this data type, whatever the problem, device
  // or method: by verification or by a sanitizer. One per configuration.
  std::vector<bool> proved_bad;
  std::vector<TrainingTrial> trials;  // ascending by problem, then configuration; each pair once
  std::int64_t left_out =
      0;  // rows that do not fit the declaration, or whose time is no positive number
};

// A group that cannot be learned from because its kernel's declaration or its device cannot be
// read.
struct UnreadableGroup {
  std::string name, kernel_hash, reason;
};

struct TrainingBook {
  std::vector<TrainingGroup> groups;  // by kernel row, device row, data type, method
  std::vector<UnreadableGroup> unreadable;
};

// Reads the trials of the book at `path` in one consistent view, and changes nothing. `kernels`:
// names; empty: all. A median that a session's finalists had in several processes replaces that of
// the trial. A published book has no trials, so it gives no group. Throws InputError if there is no
// book, it is newer than this program, or holds an outcome that this program does not know.
TrainingBook read_training(const std::filesystem::path& path,
                           const std::vector<std::string>& kernels = {});

}  // namespace tunebook
