#pragma once

// Element `index` of an input, a pure function of (seed, index): compiled for the host and for the GPU, so that both fill and
// check inputs alike.

#include <cstdint>

#include "core/dtype.h"

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
// the same bits everywhere); 4 iota low + index * high; 5 zero. Numbering follows Fill::Kind.
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

// Fill::special is a sum of these. Largest and smallest are those of the element's own type.
inline constexpr unsigned kSpecialNan = 1;
inline constexpr unsigned kSpecialInfinity = 2;
inline constexpr unsigned kSpecialNegativeInfinity = 4;
inline constexpr unsigned kSpecialNegativeZero = 8;
inline constexpr unsigned kSpecialMax = 16;
inline constexpr unsigned kSpecialMinDenormal = 32;
inline constexpr unsigned kSpecialCount = 6;

// One element in so many is special: often enough to be met by every block of threads, rare enough that sums stay sums. A
// prime, so that no tile, vector or row length is a multiple of it.
inline constexpr std::uint64_t kSpecialPeriod = 61;

// The one of the bits `special` that element `index` is to be; 0 for the others, which are fill_value()'s.
TUNEBOOK_HOST_DEVICE inline unsigned special_of(unsigned special, std::uint64_t seed, std::uint64_t index) {
  special &= (1U << kSpecialCount) - 1;
  if (special == 0) return 0;
  // Another sequence than the values', so that those of the other elements do not depend on `special`.
  const std::uint64_t bits = mix64(~seed, index);
  if (bits % kSpecialPeriod != 0) return 0;
  unsigned count = 0;
  for (unsigned rest = special; rest != 0; rest &= rest - 1) ++count;
  unsigned rest = special;
  for (std::uint64_t pick = bits / kSpecialPeriod % count; pick > 0; --pick) rest &= rest - 1;
  return rest & (~rest + 1);
}

// Explicit fraction bits of a floating type; 0 of others, which have no special values.
TUNEBOOK_HOST_DEVICE inline int fraction_bits(DType type) {
  switch (type) {
    case DType::f16: return 10;
    case DType::bf16: return 7;
    case DType::f32: return 23;
    case DType::f64: return 52;
    default: return 0;
  }
}

// The element's bits, in the low bytes. Written down rather than converted from a number: conversions of NaN give other bits on
// a GPU than on the host, and the largest f64 would be infinite as f16. `which`: one of kSpecial*; `bytes`: the type's size;
// `fraction`: its fraction_bits().
TUNEBOOK_HOST_DEVICE inline std::uint64_t special_bits(unsigned which, int bytes, int fraction) {
  const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
  const std::uint64_t infinity = sign - (std::uint64_t{1} << fraction);
  switch (which) {
    case kSpecialNan: return infinity | std::uint64_t{1} << (fraction - 1);  // quiet
    case kSpecialInfinity: return infinity;
    case kSpecialNegativeInfinity: return sign | infinity;
    case kSpecialNegativeZero: return sign;
    case kSpecialMax: return infinity - 1;
    default: return 1;  // the smallest denormal
  }
}

}  // namespace tunebook
