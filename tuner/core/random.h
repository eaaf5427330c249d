#pragma once

#include <cstdint>

namespace tunebook {

// xoshiro256** seeded through SplitMix64 (Blackman & Vigna). Own generator and distributions, so that a seed gives the same
// sequence with every compiler and library.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound);  // uniform in [0, bound), unbiased; bound >= 1
  double uniform();                          // [0, 1), 53 bits
  double normal();                           // standard normal (Marsaglia polar)

 private:
  std::uint64_t state_[4];
};

}  // namespace tunebook
