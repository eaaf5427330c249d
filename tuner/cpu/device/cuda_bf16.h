#pragma once

// bfloat16: CUDA's __nv_bfloat16, correctly rounded (to nearest even).

#include "tunebook_cpu.h"
#include "tunebook_cpu/small_float.h"

namespace tunebook_cpu {

__forceinline__ float bf16_bits_to_float(unsigned short bits) {
  return bit_cast<float>(static_cast<unsigned>(bits) << 16);
}

__forceinline__ unsigned short float_to_bf16_bits(float value) {
  const unsigned bits = bit_cast<unsigned>(value);
  const unsigned rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<unsigned short>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded);  // any NaN: CUDA's
}

}  // namespace tunebook_cpu

struct __nv_bfloat16_raw {
  unsigned short x;
};

struct __nv_bfloat16 {
  __nv_bfloat16() = default;
  __nv_bfloat16(float value) : bits_(tunebook_cpu::float_to_bf16_bits(value)) {}
  __nv_bfloat16(double value) : bits_(tunebook_cpu::float_to_bf16_bits(tunebook_cpu::round_to_odd(value))) {}
  __nv_bfloat16(int value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(unsigned value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(long long value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(unsigned long long value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(__nv_bfloat16_raw raw) : bits_(raw.x) {}
  operator float() const { return tunebook_cpu::bf16_bits_to_float(bits_); }
  explicit operator bool() const { return (bits_ & 0x7fffu) != 0; }
  unsigned short bits_;
};
typedef __nv_bfloat16 nv_bfloat16;

TUNEBOOK_SMALL_FLOAT_OPERATORS(__nv_bfloat16)

struct __attribute__((aligned(4))) __nv_bfloat162 {
  __nv_bfloat162() = default;
  __nv_bfloat162(__nv_bfloat16 x_, __nv_bfloat16 y_) : x(x_), y(y_) {}
  __nv_bfloat16 x, y;
};
typedef __nv_bfloat162 nv_bfloat162;

TUNEBOOK_SMALL_FLOAT_PAIRS(__nv_bfloat16, __nv_bfloat162)

__forceinline__ __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
__forceinline__ __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
__forceinline__ __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
__forceinline__ float __bfloat162float(__nv_bfloat16 x) { return static_cast<float>(x); }
__forceinline__ unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits_; }
__forceinline__ __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __nv_bfloat16(__nv_bfloat16_raw{x}); }
__forceinline__ __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return __nv_bfloat162(__nv_bfloat16(x), __nv_bfloat16(y));
}
__forceinline__ __nv_bfloat162 __float22bfloat162_rn(float2 v) { return __floats2bfloat162_rn(v.x, v.y); }
__forceinline__ __nv_bfloat162 __float2bfloat162_rn(float x) { return __floats2bfloat162_rn(x, x); }
__forceinline__ __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
__forceinline__ __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
__forceinline__ float2 __bfloat1622float2(__nv_bfloat162 v) { return {static_cast<float>(v.x), static_cast<float>(v.y)}; }
