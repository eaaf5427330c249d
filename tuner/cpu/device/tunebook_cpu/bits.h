#pragma once

// Integer and bit-pattern intrinsics.

namespace tunebook_cpu {
template <class To, class From>
__forceinline__ To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes must agree");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
}  // namespace tunebook_cpu

__forceinline__ int __float_as_int(float x) { return tunebook_cpu::bit_cast<int>(x); }
__forceinline__ unsigned __float_as_uint(float x) { return tunebook_cpu::bit_cast<unsigned>(x); }
__forceinline__ float __int_as_float(int x) { return tunebook_cpu::bit_cast<float>(x); }
__forceinline__ float __uint_as_float(unsigned x) { return tunebook_cpu::bit_cast<float>(x); }
__forceinline__ long long __double_as_longlong(double x) { return tunebook_cpu::bit_cast<long long>(x); }
__forceinline__ double __longlong_as_double(long long x) { return tunebook_cpu::bit_cast<double>(x); }

__forceinline__ int __popc(unsigned x) { return __builtin_popcount(x); }
__forceinline__ int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__forceinline__ int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
__forceinline__ int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
__forceinline__ int __ffs(int x) { return __builtin_ffs(x); }
__forceinline__ int __ffsll(long long x) { return __builtin_ffsll(x); }
__forceinline__ unsigned __brev(unsigned x) {
  x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
  x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
  x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
  return __builtin_bswap32(x);
}
__forceinline__ unsigned long long __brevll(unsigned long long x) {
  return (static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32) | __brev(static_cast<unsigned>(x >> 32));
}
__forceinline__ int __mulhi(int x, int y) { return static_cast<int>((static_cast<long long>(x) * y) >> 32); }
__forceinline__ unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}
__forceinline__ long long __mul64hi(long long x, long long y) {
  return static_cast<long long>((static_cast<__int128>(x) * y) >> 64);
}
__forceinline__ unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(x) * y) >> 64);
}
__forceinline__ int __mul24(int x, int y) { return ((x << 8) >> 8) * ((y << 8) >> 8); }
__forceinline__ unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
__forceinline__ unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((((static_cast<unsigned long long>(high) << 32) | low) << (shift & 31)) >> 32);
}
__forceinline__ unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((static_cast<unsigned long long>(high) << 32) | low) >> (shift & 31));
}
__forceinline__ unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = (static_cast<unsigned long long>(y) << 32) | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned nibble = (selector >> (4 * i)) & 15u;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (nibble & 7u))) & 255u;
    if (nibble & 8u) byte = (byte & 128u) ? 255u : 0u;
    result |= byte << (8 * i);
  }
  return result;
}
__forceinline__ int __dp4a(int x, int y, int sum) {
  for (int i = 0; i < 4; ++i) sum += static_cast<signed char>(x >> (8 * i)) * static_cast<signed char>(y >> (8 * i));
  return sum;
}
__forceinline__ unsigned __dp4a(unsigned x, unsigned y, unsigned sum) {
  for (int i = 0; i < 4; ++i) sum += ((x >> (8 * i)) & 255u) * ((y >> (8 * i)) & 255u);
  return sum;
}
