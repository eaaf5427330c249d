#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/outcome.h"
#include "launch/launch_copies.h"
#include "launch/launch_device.h"

namespace tunebook {

struct RefineBudget {
  double seconds = 0;             // of GPU time, for all configurations together
  int samples = 7;                // of each
  std::function<bool()> stop = {};  // asked before each launch; may be empty
};

// How one configuration did.
struct RefinedTime {
  bool tried = false;
  Outcome outcome = Outcome::ok;
  std::string message;
  std::vector<double> samples_us;
  double median_us() const;  // 0: no samples
};

struct Refinement {
  std::vector<RefinedTime> times;  // one per configuration
  std::size_t chosen = 0;          // which one to launch; 0: the one at hand
  double gpu_seconds = 0;          // spent
  std::string obstacle;            // not empty: why nothing could be decided
};

// Times configurations on copies and chooses the fastest whose results agree with the first one's. Each result is
// compared, not only the first. Never throws for a candidate; throws nothing at all for a device that failed: `obstacle`
// says so. A null pointer among `candidates` is one that could not be loaded: it is passed over.
Refinement refine(LaunchCopies& copies, const std::vector<std::shared_ptr<const LoadedLaunch>>& candidates, const RefineBudget& budget);

}  // namespace tunebook
