#pragma once

#include <cstdint>
#include <vector>

#include "cuda/nvml_device.h"
#include "worker/message.h"

namespace tunebook {

// Decides for each batch of samples whether it is thrown away and taken again because the device was throttled meanwhile. One object
// per process: a GPU that sits at its power cap for as long as heavy kernels run (an H200 does) would be throttled the next time, too.
class RetakePolicy {
 public:
  static constexpr std::int64_t kMostRetakes = 3;    // of one measurement
  static constexpr double kMostTimeShare = 0.3;      // of a measurement's time
  static constexpr int kHopelessInARow = 6;          // throttled batches, over measurements; the next one that is not ends this

  // A measurement that may last `max_seconds` begins.
  void begin(double max_seconds);
  // `seconds`: what the batch cost. True: throw it away. The last one is always kept.
  bool retake(bool throttled, double seconds);

 private:
  std::int64_t retaken_ = 0;
  double retaken_seconds_ = 0;
  double allowed_seconds_ = 0;
  int throttled_in_a_row_ = 0;
};

// Collects the readings of the batches that are kept.
class ConditionsLog {
 public:
  void keep(const NvmlReading& reading);
  void retaken() { ++retaken_; }
  // Medians, and every reason to throttle that was seen.
  Conditions conditions() const;

 private:
  std::vector<NvmlReading> readings_;
  std::int64_t retaken_ = 0;
};

}  // namespace tunebook
