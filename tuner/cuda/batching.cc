#include "cuda/batching.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tunebook {

std::int64_t power_of_two_within(std::int64_t count) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1))));
}

std::int64_t Batching::launches_for(double once_us) {
  if (once_us < kShortUs) seen_short_ = true;
  if (!(once_us < (seen_short_ ? kLongUs : kShortUs))) return 1;
  const double ideal = kBatchUs / std::max(once_us, kBatchUs / static_cast<double>(kMost));
  return std::clamp(std::int64_t{1} << std::lround(std::log2(ideal)), std::int64_t{2}, kMost);
}

}  // namespace tunebook
