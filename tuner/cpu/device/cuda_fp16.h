#pragma once

// IEEE binary16: CUDA's __half, correctly rounded (to nearest even).

#include "tunebook_cpu.h"
#include "tunebook_cpu/small_float.h"

namespace tunebook_cpu {

// Shifts the bits into place and corrects the exponent's bias by a multiplication, which also normalises subnormal numbers.
// Plain arithmetic instead of the F16C instruction, because compilers vectorise it.
__forceinline__ float half_bits_to_float(unsigned short half) {
  const unsigned magnitude = static_cast<unsigned>(half & 0x7fffu) << 13;
  const float scaled = bit_cast<float>(magnitude) * 0x1p112f;
  unsigned bits = bit_cast<unsigned>(scaled);
  bits |= (half & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;  // infinity and NaN
  return bit_cast<float>(bits | (static_cast<unsigned>(half & 0x8000u) << 16));
}

__forceinline__ unsigned short float_to_half_bits(float value) {
#ifdef __F16C__
  typedef float Float4 __attribute__((vector_size(16)));
  typedef short Short8 __attribute__((vector_size(16)));
  const Float4 in = {value, 0, 0, 0};
  const Short8 out = __builtin_ia32_vcvtps2ph(in, 0);  // 0: to nearest even
  return static_cast<unsigned short>(out[0]);
#else
  const unsigned bits = bit_cast<unsigned>(value);
  const unsigned sign = (bits >> 16) & 0x8000u;
  const unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<unsigned short>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  if (magnitude >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00u);  // rounds to infinity
  if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 puts the last bit of the result at the last bit of the sum, which the addition rounds.
    const float sum = bit_cast<float>(magnitude) + 0.5f;
    return static_cast<unsigned short>(sign | (bit_cast<unsigned>(sum) - 0x3f000000u));
  }
  const unsigned odd = (magnitude >> 13) & 1u;
  return static_cast<unsigned short>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
#endif
}

}  // namespace tunebook_cpu

struct __half_raw {
  unsigned short x;
};

struct __half {
  __half() = default;
  __half(float value) : bits_(tunebook_cpu::float_to_half_bits(value)) {}
  __half(double value) : bits_(tunebook_cpu::float_to_half_bits(tunebook_cpu::round_to_odd(value))) {}
  __half(int value) : __half(static_cast<double>(value)) {}
  __half(unsigned value) : __half(static_cast<double>(value)) {}
  __half(long long value) : __half(static_cast<double>(value)) {}
  __half(unsigned long long value) : __half(static_cast<double>(value)) {}
  __half(__half_raw raw) : bits_(raw.x) {}
  operator float() const { return tunebook_cpu::half_bits_to_float(bits_); }
  explicit operator bool() const { return (bits_ & 0x7fffu) != 0; }
  unsigned short bits_;
};
typedef __half half;

TUNEBOOK_SMALL_FLOAT_OPERATORS(__half)

struct __attribute__((aligned(4))) __half2 {
  __half2() = default;
  __half2(__half x_, __half y_) : x(x_), y(y_) {}
  __half x, y;
};
typedef __half2 half2;

TUNEBOOK_SMALL_FLOAT_PAIRS(__half, __half2)

__forceinline__ __half __float2half(float x) { return __half(x); }
__forceinline__ __half __float2half_rn(float x) { return __half(x); }
__forceinline__ __half __double2half(double x) { return __half(x); }
__forceinline__ __half __int2half_rn(int x) { return __half(x); }
__forceinline__ float __half2float(__half x) { return static_cast<float>(x); }
__forceinline__ int __half2int_rn(__half x) { return __float2int_rn(static_cast<float>(x)); }
__forceinline__ int __half2int_rz(__half x) { return static_cast<int>(static_cast<float>(x)); }
__forceinline__ unsigned short __half_as_ushort(__half x) { return x.bits_; }
__forceinline__ __half __ushort_as_half(unsigned short x) { return __half(__half_raw{x}); }
__forceinline__ __half2 __floats2half2_rn(float x, float y) { return __half2(__half(x), __half(y)); }
__forceinline__ __half2 __float22half2_rn(float2 v) { return __floats2half2_rn(v.x, v.y); }
__forceinline__ __half2 __float2half2_rn(float x) { return __floats2half2_rn(x, x); }
__forceinline__ __half2 __half2half2(__half x) { return __half2(x, x); }
__forceinline__ __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
__forceinline__ __half2 make_half2(__half x, __half y) { return __half2(x, y); }
__forceinline__ float2 __half22float2(__half2 v) { return {static_cast<float>(v.x), static_cast<float>(v.y)}; }
__forceinline__ __half __low2half(__half2 v) { return v.x; }
__forceinline__ __half __high2half(__half2 v) { return v.y; }
