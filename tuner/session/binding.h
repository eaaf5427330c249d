#pragma once

#include <optional>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "core/ceiling.h"
#include "core/device.h"
#include "core/launch_plan.h"

namespace tunebook {

// What is known of one configuration that was timed.
struct BindingEvidence {
  double time_us = 0;
  Workload work;
  std::span<const Ceiling> ceilings;      // of the device, all methods; none: not calibrated
  std::string method;                     // how the time was taken
  Resources resources;
  std::optional<LaunchShape> shape;       // of the kernel that the resources are of; none: not known (a recording)
  Device device;
  nlohmann::json counters;                // of a profiler, by name (session/profiler_report.h); null: none were read
};

// What keeps a configuration from being faster.
struct Binding {
  enum class Kind { arithmetic, bandwidth, latency, occupancy, spills, bank_conflicts, unknown };
  Kind kind = Kind::unknown;
  std::string reason;            // with the numbers that it is concluded from; of unknown: what is missing
  std::optional<double> percent; // of the ceiling that bounds the work, if there is one
};
// "arithmetic", "bandwidth", "latency", "occupancy", "spills", "bank conflicts", "unknown".
std::string_view binding_name(Binding::Kind kind);

// The first of these that holds:
//   bank conflicts  counters: of the wavefronts of shared memory at least kConflictShare are conflicts, and warps wait for shared memory
//   arithmetic, bandwidth  the time is within kCeilingShare of what the measured ceiling allows; or by counters, the units are that busy
//   spills          registers are kept in memory (kSpillBytes or more moved by a thread)
//   occupancy       what a block needs lets less than kOccupancyShare of an SM's warps in, and more blocks are there to run
//   latency         too few warps are there to hide it: fewer blocks than fill the device, or a time of a few launches; or by counters, the
//                   warps wait and no unit is busy
// Without a ceiling and without counters nothing tells whether a unit is busy: of a kernel that fills the device it is unknown what binds.
Binding diagnose(const BindingEvidence& evidence);

}  // namespace tunebook
