#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/outcome.h"

namespace tunebook::reports {

// One trial of a session, in the order of evaluation.
struct PlottedTrial {
  Outcome outcome = Outcome::ok;
  std::optional<double> time_us;  // of ok and abandoned ones
};

// A trial that is shown.
struct KeptTrial {
  std::size_t trial = 0;   // its place among the trials
  std::int64_t count = 1;  // failures of this outcome that it stands for: itself and those after it
};

// At most about `points` of the trials, ascending: all if they are no more than that; else every improvement of the best so far (if they
// are no more than a quarter of `points`, else the last of them), the fastest and the slowest of each of equal stretches of the session,
// and failures binned by outcome and stretch. The fastest and the slowest of all are always among them, the counts of failures add up,
// and what is kept is a function of the trials alone.
std::vector<KeptTrial> thin_trials(std::span<const PlottedTrial> trials, std::size_t points);

}  // namespace tunebook::reports
