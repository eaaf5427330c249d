#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/outcome.h"
#include "core/problem.h"
#include "core/spec.h"
#include "tunebook/launch.h"

namespace tunebook {

class LoadedLaunch;

// One argument that the application gives, as far as copies of it are concerned.
struct CopiedArgument {
  std::string name;
  DType dtype = DType::f32;
  bool pointer = false;
  bool read = false;       // the buffer's contents matter: in, inout
  bool written = false;    // out, inout: compared
  std::int64_t count = 1;  // elements
  double rel = 0, abs = 0; // written: tolerance
  std::int64_t bytes() const { return count * static_cast<std::int64_t>(dtype_size(dtype)); }
};

// What copies are made of: the arguments in the order in which the application gives them.
struct CopyPlan {
  std::vector<CopiedArgument> arguments;
  bool cold = true;              // L2 is flushed before each launch
  std::int64_t flush_bytes = 0;  // 0 unless cold
  // Device memory that copies of all this take: one of each buffer, the results that others are compared with, and
  // the contents to begin with of what is both read and written. Without workspaces.
  std::int64_t bytes() const;
};

// Throws InputError if a count or a tolerance cannot be evaluated.
CopyPlan copy_plan(const KernelSpec& spec, const Problem& problem, const Device& device, bool cold);

// A launch that the device refuses or that goes wrong without harm to others.
class CandidateFailed : public std::runtime_error {
 public:
  CandidateFailed(Outcome outcome, const std::string& message) : std::runtime_error(message), outcome_(outcome) {}
  Outcome outcome() const { return outcome_; }

 private:
  Outcome outcome_;
};

// Copies of one launch's arguments, on which other configurations are timed. For one thread at a time.
class LaunchCopies {
 public:
  virtual ~LaunchCopies() = default;

  struct Run {
    double launch_us = 0;  // of the launch alone
    double gpu_us = 0;     // with all that the device did for it
  };
  // Runs the launch once: what it reads is as it was copied, results hold rubbish before. Waits for it. Throws
  // CandidateFailed; LaunchError if the device cannot be used any more.
  virtual Run run(const LoadedLaunch& launch) = 0;
  // Keeps the last run's results: later ones are compared with them. Throws LaunchError.
  virtual void keep_results() = 0;
  // Compares the last run's results with those that were kept: "" if all elements agree within the tolerance, else
  // which do not. Throws LaunchError.
  virtual std::string difference() = 0;
};

}  // namespace tunebook
