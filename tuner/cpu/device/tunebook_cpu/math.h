#pragma once

// Mathematical functions: the CUDA names for float and double, over compiler builtins (instructions or libm).

#define TUNEBOOK_MATH1(name)                                                    \
  __forceinline__ float name##f(float x) { return __builtin_##name##f(x); }     \
  __forceinline__ float name(float x) { return __builtin_##name##f(x); }        \
  __forceinline__ double name(double x) { return __builtin_##name(x); }
TUNEBOOK_MATH1(acos)
TUNEBOOK_MATH1(acosh)
TUNEBOOK_MATH1(asin)
TUNEBOOK_MATH1(asinh)
TUNEBOOK_MATH1(atan)
TUNEBOOK_MATH1(atanh)
TUNEBOOK_MATH1(cbrt)
TUNEBOOK_MATH1(ceil)
TUNEBOOK_MATH1(cos)
TUNEBOOK_MATH1(cosh)
TUNEBOOK_MATH1(erf)
TUNEBOOK_MATH1(erfc)
TUNEBOOK_MATH1(exp)
TUNEBOOK_MATH1(exp2)
TUNEBOOK_MATH1(expm1)
TUNEBOOK_MATH1(fabs)
TUNEBOOK_MATH1(floor)
TUNEBOOK_MATH1(lgamma)
TUNEBOOK_MATH1(log)
TUNEBOOK_MATH1(log10)
TUNEBOOK_MATH1(log1p)
TUNEBOOK_MATH1(log2)
TUNEBOOK_MATH1(logb)
TUNEBOOK_MATH1(nearbyint)
TUNEBOOK_MATH1(rint)
TUNEBOOK_MATH1(round)
TUNEBOOK_MATH1(sin)
TUNEBOOK_MATH1(sinh)
TUNEBOOK_MATH1(sqrt)
TUNEBOOK_MATH1(tan)
TUNEBOOK_MATH1(tanh)
TUNEBOOK_MATH1(tgamma)
TUNEBOOK_MATH1(trunc)
#undef TUNEBOOK_MATH1

#define TUNEBOOK_MATH2(name)                                                                      \
  __forceinline__ float name##f(float x, float y) { return __builtin_##name##f(x, y); }           \
  __forceinline__ float name(float x, float y) { return __builtin_##name##f(x, y); }              \
  __forceinline__ double name(double x, double y) { return __builtin_##name(x, y); }
TUNEBOOK_MATH2(atan2)
TUNEBOOK_MATH2(copysign)
TUNEBOOK_MATH2(fdim)
TUNEBOOK_MATH2(fmax)
TUNEBOOK_MATH2(fmin)
TUNEBOOK_MATH2(fmod)
TUNEBOOK_MATH2(hypot)
TUNEBOOK_MATH2(nextafter)
TUNEBOOK_MATH2(pow)
TUNEBOOK_MATH2(remainder)
#undef TUNEBOOK_MATH2

__forceinline__ float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__forceinline__ float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__forceinline__ double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
__forceinline__ double pow(double x, int y) { return __builtin_pow(x, y); }
__forceinline__ float pow(float x, int y) { return __builtin_powf(x, static_cast<float>(y)); }
__forceinline__ float powif(float x, int y) { return __builtin_powif(x, y); }
__forceinline__ float ldexpf(float x, int e) { return __builtin_ldexpf(x, e); }
__forceinline__ double ldexp(double x, int e) { return __builtin_ldexp(x, e); }
__forceinline__ float exp10f(float x) { return __builtin_powf(10.0f, x); }
__forceinline__ float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
__forceinline__ float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
__forceinline__ double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
__forceinline__ void sincosf(float x, float* s, float* c) { *s = __builtin_sinf(x), *c = __builtin_cosf(x); }
__forceinline__ void sincos(double x, double* s, double* c) { *s = __builtin_sin(x), *c = __builtin_cos(x); }

__forceinline__ int abs(int x) { return x < 0 ? -x : x; }
__forceinline__ long abs(long x) { return x < 0 ? -x : x; }
__forceinline__ long long abs(long long x) { return x < 0 ? -x : x; }
__forceinline__ long long llabs(long long x) { return x < 0 ? -x : x; }
__forceinline__ float abs(float x) { return __builtin_fabsf(x); }
__forceinline__ double abs(double x) { return __builtin_fabs(x); }

#define TUNEBOOK_MIN_MAX(T)                                           \
  __forceinline__ constexpr T min(T x, T y) { return y < x ? y : x; } \
  __forceinline__ constexpr T max(T x, T y) { return x < y ? y : x; }
TUNEBOOK_MIN_MAX(int)
TUNEBOOK_MIN_MAX(unsigned)
TUNEBOOK_MIN_MAX(long)
TUNEBOOK_MIN_MAX(unsigned long)
TUNEBOOK_MIN_MAX(long long)
TUNEBOOK_MIN_MAX(unsigned long long)
#undef TUNEBOOK_MIN_MAX
// As in CUDA, mixed signs compare as unsigned and a NaN gives the other operand.
__forceinline__ constexpr unsigned min(int x, unsigned y) { return min(static_cast<unsigned>(x), y); }
__forceinline__ constexpr unsigned min(unsigned x, int y) { return min(x, static_cast<unsigned>(y)); }
__forceinline__ constexpr unsigned max(int x, unsigned y) { return max(static_cast<unsigned>(x), y); }
__forceinline__ constexpr unsigned max(unsigned x, int y) { return max(x, static_cast<unsigned>(y)); }
__forceinline__ float min(float x, float y) { return __builtin_fminf(x, y); }
__forceinline__ float max(float x, float y) { return __builtin_fmaxf(x, y); }
__forceinline__ double min(double x, double y) { return __builtin_fmin(x, y); }
__forceinline__ double max(double x, double y) { return __builtin_fmax(x, y); }

__forceinline__ bool isnan(float x) { return __builtin_isnan(x); }
__forceinline__ bool isnan(double x) { return __builtin_isnan(x); }
__forceinline__ bool isinf(float x) { return __builtin_isinf(x); }
__forceinline__ bool isinf(double x) { return __builtin_isinf(x); }
__forceinline__ bool isfinite(float x) { return __builtin_isfinite(x); }
__forceinline__ bool isfinite(double x) { return __builtin_isfinite(x); }
__forceinline__ bool signbit(float x) { return __builtin_signbit(x); }
__forceinline__ bool signbit(double x) { return __builtin_signbit(x); }

__forceinline__ float __expf(float x) { return __builtin_expf(x); }
__forceinline__ float __exp10f(float x) { return exp10f(x); }
__forceinline__ float __logf(float x) { return __builtin_logf(x); }
__forceinline__ float __log2f(float x) { return __builtin_log2f(x); }
__forceinline__ float __log10f(float x) { return __builtin_log10f(x); }
__forceinline__ float __sinf(float x) { return __builtin_sinf(x); }
__forceinline__ float __cosf(float x) { return __builtin_cosf(x); }
__forceinline__ float __tanf(float x) { return __builtin_tanf(x); }
__forceinline__ float __powf(float x, float y) { return __builtin_powf(x, y); }
__forceinline__ float __fdividef(float x, float y) { return x / y; }
__forceinline__ float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
__forceinline__ float __frcp_rn(float x) { return 1.0f / x; }
__forceinline__ float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
__forceinline__ float __frsqrt_rn(float x) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x))); }
__forceinline__ float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__forceinline__ double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }

namespace tunebook_cpu {
// Hides a value from the optimiser: these results must not be fused with a neighbouring operation.
template <class T>
__forceinline__ T not_fused(T x) {
  __asm__("" : "+x"(x));
  return x;
}
}  // namespace tunebook_cpu
__forceinline__ float __fadd_rn(float x, float y) { return tunebook_cpu::not_fused(x + y); }
__forceinline__ float __fsub_rn(float x, float y) { return tunebook_cpu::not_fused(x - y); }
__forceinline__ float __fmul_rn(float x, float y) { return tunebook_cpu::not_fused(x * y); }
__forceinline__ float __fdiv_rn(float x, float y) { return x / y; }
__forceinline__ double __dadd_rn(double x, double y) { return tunebook_cpu::not_fused(x + y); }
__forceinline__ double __dsub_rn(double x, double y) { return tunebook_cpu::not_fused(x - y); }
__forceinline__ double __dmul_rn(double x, double y) { return tunebook_cpu::not_fused(x * y); }
__forceinline__ double __ddiv_rn(double x, double y) { return x / y; }

__forceinline__ int __float2int_rn(float x) { return static_cast<int>(__builtin_rintf(x)); }
__forceinline__ int __float2int_rz(float x) { return static_cast<int>(x); }
__forceinline__ int __float2int_rd(float x) { return static_cast<int>(__builtin_floorf(x)); }
__forceinline__ int __float2int_ru(float x) { return static_cast<int>(__builtin_ceilf(x)); }
__forceinline__ unsigned __float2uint_rn(float x) { return static_cast<unsigned>(__builtin_rintf(x)); }
__forceinline__ unsigned __float2uint_rz(float x) { return static_cast<unsigned>(x); }
__forceinline__ float __int2float_rn(int x) { return static_cast<float>(x); }
__forceinline__ float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
__forceinline__ float __double2float_rn(double x) { return static_cast<float>(x); }

#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define HUGE_VALF (__builtin_huge_valf())
#define CUDART_INF_F (__builtin_inff())
#define CUDART_INF (__builtin_inf())
#define M_PI 3.14159265358979323846
