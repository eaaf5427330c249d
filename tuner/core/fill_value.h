#pragma once

// The value of element `index` of an input, a pure function of (seed, index): compiled for the host and for the GPU, so that
// both fill and check inputs alike. Needs no other header than <cstdint>.

#include <cstdint>

#ifdef __CUDACC__
#define TUNEBOOK_HOST_DEVICE __host__ __device__
#else
#define TUNEBOOK_HOST_DEVICE
#endif

namespace tunebook {

// SplitMix64's output function on a counter.
TUNEBOOK_HOST_DEVICE inline std::uint64_t mix64(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// kind: 1 uniform [low, high); 2 uniform integers [low, high]; 3 normal (sum of 12 uniforms: bounded by 6 standard deviations,
// the same bits everywhere); 4 iota low + index * high. Numbering follows Fill::Kind.
TUNEBOOK_HOST_DEVICE inline double fill_value(int kind, double low, double high, std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t bits = mix64(seed, index);
  const double unit = static_cast<double>(bits >> 11) * (1.0 / 9007199254740992.0);
  switch (kind) {
    case 1: return low + (high - low) * unit;
    case 2: {
      const double span = high - low + 1.0;
      double offset = unit * span;
      offset = static_cast<double>(static_cast<std::int64_t>(offset));
      return low + offset;
    }
    case 3: {
      double sum = 0;
      for (std::uint64_t i = 0; i < 12; ++i) sum += static_cast<double>(mix64(bits, i) >> 11) * (1.0 / 9007199254740992.0);
      return low + high * (sum - 6.0);
    }
    case 4: return low + static_cast<double>(index) * high;
    default: return 0;
  }
}

}  // namespace tunebook
