#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tunebook {

// What the device was doing while times were taken: medians over the batches that were kept. Empty where not read.
struct Conditions {
  std::optional<double> sm_clock_mhz, memory_clock_mhz, temperature_c, power_w;
  std::string throttled;             // reasons seen in batches that were kept all the same: "power cap, thermal"
  std::int64_t retaken_batches = 0;  // thrown away because the device was throttled
};

}  // namespace tunebook
