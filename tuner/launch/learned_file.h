#pragma once

#include <string>
#include <vector>

#include "launch/refinement.h"
#include "tunebook/launch.h"

namespace tunebook {

// What was refined, for the lines about it.
struct LearnedAbout {
  std::string kernel, kernel_hash;
  LookupValues problem;  // complete, in declared order
  DeviceKey device;
  std::string method;    // whole: "cold/2"
};

// One line per configuration that was tried: {"kernel", "problem", "device", "kernel_hash", "objective", "method",
// "configuration", "outcome", "message", "median_us" (null: no times), "samples", "samples_us", "registers" (null: not known),
// "asked_utc", "source": "launch"}. All lines of one call have the same time. It is the format of a log of misses with more keys.
std::string learned_lines(const LearnedAbout& about, const std::vector<RefinedCandidate>& candidates, const std::vector<std::int64_t>& registers);

// Appends `lines` in one piece, whatever other threads and processes append meanwhile; after a line that a full disk
// left incomplete it begins a new one. Nothing is added beyond 64 MiB. "" if it was written, else what went wrong.
std::string append_learned(const std::string& path, const std::string& lines);

}  // namespace tunebook
