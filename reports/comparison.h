#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "reports/report.h"

namespace tunebook::reports {

// Both winners of one pair of items, timed again in the same fresh processes; the i-th of both are of one.
struct Remeasurement {
  std::size_t base = 0, candidate = 0;     // places in the two reports' items
  std::vector<double> base_us, candidate_us;  // medians, one per process
};

// Places of the items that are compared with each other: those with equal keys; then, of what is left, those that differ in the device
// or in the clock that their method names, if there is one on each side only (comparing two devices).
struct ItemPair {
  std::size_t base = 0, candidate = 0;
};
std::vector<ItemPair> pair_items(const Report& base, const Report& candidate);

// Judges every item of both reports (reports/gate.h) and says what differs between their environments. `exit_code` is that of a gate:
// 3 on what --fail-on names, where an item that only the base has counts as inconclusive, as does one with the same session on both
// sides; 2 if the gate is refused or nothing could be compared; with FailOn::never it is 0 always. Pairs that were timed again are judged by those times. Historical noise is that of the
// base's Item::trend. Of `title`, `command` and `generated_utc` only the title is filled in.
Comparison compare(Report base, Report candidate, ComparisonSettings settings, std::span<const Remeasurement> remeasured = {});

// "1 regression, 37 unchanged, 3 inconclusive".
std::string counts_text(const Comparison& comparison);

// What to do about exit code 2, for stderr: which differences refuse the gate and the option that allows them, or that nothing could be
// compared. Empty with any other code.
std::string gate_refusal(const Comparison& comparison);

// The differences to be shown: those of one label together, at most a few of each, as sixty kernels may differ in sixty hashes.
struct ShownDifference {
  const EnvironmentDifference* difference = nullptr;
  std::size_t more = 0;  // of the same label, which are not shown; at the last of each label
};
std::vector<ShownDifference> shown_differences(const Comparison& comparison);

// Names that --allow-different takes.
const std::vector<std::string>& difference_names();
// "5%" for all kernels, or "matmul=0.5%" for one; a share is set in `settings`. Throws InputError.
void set_threshold(ComparisonSettings& settings, const std::string& text);
// A comma-separated list of difference_names() or "all". Throws InputError with the nearest name.
void allow_differences(ComparisonSettings& settings, const std::string& text);

}  // namespace tunebook::reports
