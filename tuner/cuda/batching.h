#pragma once

#include <cstdint>

namespace tunebook {

// Decides how many launches make one sample of a kernel. A window between two events starts and ends up to a microsecond early or late,
// so kernels that are not long beside that are timed in batches that last about 200 us.
//
// The limit is well above 50 us and well off the times where it would matter most: with 75 us the error of a window is near 1 %. One
// object serves one problem, so that configurations of similar speed are measured alike: once a kernel was short, others of the same
// problem are batched up to twice the limit. A discontinuity remains for kernels that took 75 to 150 us before the first short
// one was seen, and at 150 us: a launch in a cold batch finds in L2 what the launch before it left, dirty lines of another copy included,
// and pays for writing them back, where a single launch finds clean lines of the flush; and the kernel's code is in L2 from the second
// launch of a batch on (both together about a microsecond).
class Batching {
 public:
  static constexpr std::int64_t kMost = 64;
  static constexpr double kBatchUs = 200;
  static constexpr double kShortUs = 75;
  static constexpr double kLongUs = 150;

  // Launches per sample for a kernel that takes about `once_us`: 1, or a power of two from 2 to kMost (so that the cost of a launch has
  // to be known for few batches).
  std::int64_t launches_for(double once_us);

 private:
  bool seen_short_ = false;
};

// The largest power of two that is at most `count` (at least 1).
std::int64_t power_of_two_within(std::int64_t count);

}  // namespace tunebook
