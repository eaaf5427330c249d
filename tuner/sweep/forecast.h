#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sweep/plan.h"

namespace tunebook {

// How long a plan's work is expected to take when every device works on its own items at the same time.
struct Forecast {
  std::map<std::string, double> device_seconds;  // by device as items have it; recordings together as "replay"
  double seconds = 0;                            // of the busiest device
  double device_sum = 0;
  std::size_t to_run = 0;                        // items that are not fresh
  std::size_t in_time = 0;                       // of these, expected to end within the time when run in the order of work
};

// `time`: seconds there are; empty: no limit. A device's items follow each other.
Forecast forecast(const std::vector<FrozenItem>& items, std::optional<double> time);

}  // namespace tunebook
