#pragma once

// What cuda_fp16.h and cuda_bf16.h share: operators on a 16-bit floating type S whose arithmetic is done in f32 and rounded
// once. f32 has more than twice the digits of either plus two, so that + - * / and sqrt are correctly rounded.

namespace tunebook_cpu {

// d rounded to f32 by "round to odd": rounding that again to 16 bits gives the correctly rounded result of d.
__forceinline__ float round_to_odd(double d) {
  float f = static_cast<float>(d);
  if (static_cast<double>(f) == d || d != d) return f;
  unsigned bits = bit_cast<unsigned>(f);
  const double magnitude = __builtin_fabs(d);
  if (static_cast<double>(__builtin_fabsf(f)) > magnitude) --bits;  // toward zero
  return bit_cast<float>(bits | 1u);
}

}  // namespace tunebook_cpu

#define TUNEBOOK_SMALL_FLOAT_OPERATORS(S)                                                                        \
  __forceinline__ S operator+(S x, S y) { return S(static_cast<float>(x) + static_cast<float>(y)); }             \
  __forceinline__ S operator-(S x, S y) { return S(static_cast<float>(x) - static_cast<float>(y)); }             \
  __forceinline__ S operator*(S x, S y) { return S(static_cast<float>(x) * static_cast<float>(y)); }             \
  __forceinline__ S operator/(S x, S y) { return S(static_cast<float>(x) / static_cast<float>(y)); }             \
  __forceinline__ S operator-(S x) { return S(-static_cast<float>(x)); }                                         \
  __forceinline__ S operator+(S x) { return x; }                                                                 \
  __forceinline__ S& operator+=(S& x, S y) { return x = x + y; }                                                 \
  __forceinline__ S& operator-=(S& x, S y) { return x = x - y; }                                                 \
  __forceinline__ S& operator*=(S& x, S y) { return x = x * y; }                                                 \
  __forceinline__ S& operator/=(S& x, S y) { return x = x / y; }                                                 \
  __forceinline__ bool operator==(S x, S y) { return static_cast<float>(x) == static_cast<float>(y); }           \
  __forceinline__ bool operator!=(S x, S y) { return static_cast<float>(x) != static_cast<float>(y); }           \
  __forceinline__ bool operator<(S x, S y) { return static_cast<float>(x) < static_cast<float>(y); }             \
  __forceinline__ bool operator<=(S x, S y) { return static_cast<float>(x) <= static_cast<float>(y); }           \
  __forceinline__ bool operator>(S x, S y) { return static_cast<float>(x) > static_cast<float>(y); }             \
  __forceinline__ bool operator>=(S x, S y) { return static_cast<float>(x) >= static_cast<float>(y); }           \
  __forceinline__ S __hadd(S x, S y) { return x + y; }                                                           \
  __forceinline__ S __hsub(S x, S y) { return x - y; }                                                           \
  __forceinline__ S __hmul(S x, S y) { return x * y; }                                                           \
  __forceinline__ S __hdiv(S x, S y) { return x / y; }                                                           \
  __forceinline__ S __hneg(S x) { return -x; }                                                                   \
  __forceinline__ S __habs(S x) { return S(__builtin_fabsf(static_cast<float>(x))); }                            \
  __forceinline__ S __hfma(S x, S y, S z) {                                                                      \
    return S(tunebook_cpu::round_to_odd(static_cast<double>(static_cast<float>(x)) *                             \
                                            static_cast<double>(static_cast<float>(y)) +                         \
                                        static_cast<double>(static_cast<float>(z))));                            \
  }                                                                                                              \
  __forceinline__ S __hmax(S x, S y) { return S(__builtin_fmaxf(static_cast<float>(x), static_cast<float>(y))); } \
  __forceinline__ S __hmin(S x, S y) { return S(__builtin_fminf(static_cast<float>(x), static_cast<float>(y))); } \
  __forceinline__ bool __heq(S x, S y) { return x == y; }                                                        \
  __forceinline__ bool __hne(S x, S y) { return x != y; }                                                        \
  __forceinline__ bool __hlt(S x, S y) { return x < y; }                                                         \
  __forceinline__ bool __hle(S x, S y) { return x <= y; }                                                        \
  __forceinline__ bool __hgt(S x, S y) { return x > y; }                                                         \
  __forceinline__ bool __hge(S x, S y) { return x >= y; }                                                        \
  __forceinline__ bool __hisnan(S x) { return x != x; }                                                          \
  __forceinline__ S hexp(S x) { return S(__builtin_expf(static_cast<float>(x))); }                               \
  __forceinline__ S hlog(S x) { return S(__builtin_logf(static_cast<float>(x))); }                               \
  __forceinline__ S hsqrt(S x) { return S(__builtin_sqrtf(static_cast<float>(x))); }                             \
  __forceinline__ S hrsqrt(S x) { return S(rsqrtf(static_cast<float>(x))); }                                     \
  __forceinline__ S hrcp(S x) { return S(1.0f / static_cast<float>(x)); }                                        \
  __forceinline__ S htanh(S x) { return S(__builtin_tanhf(static_cast<float>(x))); }                             \
  __forceinline__ S atomicAdd(S* p, S v) {                                                                       \
    return tunebook_cpu::atomic_update(p, [v](S old) { return old + v; });                                       \
  }

#define TUNEBOOK_SMALL_FLOAT_PAIRS(S, S2)                                                                          \
  __forceinline__ S2 operator+(S2 x, S2 y) { return S2(x.x + y.x, x.y + y.y); }                                    \
  __forceinline__ S2 operator-(S2 x, S2 y) { return S2(x.x - y.x, x.y - y.y); }                                    \
  __forceinline__ S2 operator*(S2 x, S2 y) { return S2(x.x * y.x, x.y * y.y); }                                    \
  __forceinline__ S2 operator/(S2 x, S2 y) { return S2(x.x / y.x, x.y / y.y); }                                    \
  __forceinline__ S2& operator+=(S2& x, S2 y) { return x = x + y; }                                                \
  __forceinline__ S2& operator*=(S2& x, S2 y) { return x = x * y; }                                                \
  __forceinline__ S2 __hadd2(S2 x, S2 y) { return x + y; }                                                         \
  __forceinline__ S2 __hsub2(S2 x, S2 y) { return x - y; }                                                         \
  __forceinline__ S2 __hmul2(S2 x, S2 y) { return x * y; }                                                         \
  __forceinline__ S2 __hfma2(S2 x, S2 y, S2 z) { return S2(__hfma(x.x, y.x, z.x), __hfma(x.y, y.y, z.y)); }        \
  __forceinline__ S2 __hmax2(S2 x, S2 y) { return S2(__hmax(x.x, y.x), __hmax(x.y, y.y)); }                        \
  __forceinline__ S2 __hmin2(S2 x, S2 y) { return S2(__hmin(x.x, y.x), __hmin(x.y, y.y)); }                        \
  __forceinline__ float __low2float(S2 v) { return static_cast<float>(v.x); }                                      \
  __forceinline__ float __high2float(S2 v) { return static_cast<float>(v.y); }
