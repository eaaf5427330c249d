#pragma once

// Qualifiers, dim3 and the vector types.

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
// The rewriter replaces __shared__; one hidden in a macro becomes storage of the OS thread, which runs one block at a time.
#define __shared__ static __thread

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define TUNEBOOK_VECTOR(base, scalar, align1, align2, align4)                                                   \
  struct __attribute__((aligned(align1))) base##1 { scalar x; };                                                \
  struct __attribute__((aligned(align2))) base##2 { scalar x, y; };                                             \
  struct base##3 { scalar x, y, z; };                                                                           \
  struct __attribute__((aligned(align4))) base##4 { scalar x, y, z, w; };                                       \
  __forceinline__ base##1 make_##base##1(scalar x) { return {x}; }                                              \
  __forceinline__ base##2 make_##base##2(scalar x, scalar y) { return {x, y}; }                                 \
  __forceinline__ base##3 make_##base##3(scalar x, scalar y, scalar z) { return {x, y, z}; }                    \
  __forceinline__ base##4 make_##base##4(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }
TUNEBOOK_VECTOR(char, signed char, 1, 2, 4)
TUNEBOOK_VECTOR(uchar, unsigned char, 1, 2, 4)
TUNEBOOK_VECTOR(short, short, 2, 4, 8)
TUNEBOOK_VECTOR(ushort, unsigned short, 2, 4, 8)
TUNEBOOK_VECTOR(int, int, 4, 8, 16)
TUNEBOOK_VECTOR(uint, unsigned, 4, 8, 16)
TUNEBOOK_VECTOR(long, long, 8, 16, 16)
TUNEBOOK_VECTOR(ulong, unsigned long, 8, 16, 16)
TUNEBOOK_VECTOR(longlong, long long, 8, 16, 16)
TUNEBOOK_VECTOR(ulonglong, unsigned long long, 8, 16, 16)
TUNEBOOK_VECTOR(float, float, 4, 8, 16)
TUNEBOOK_VECTOR(double, double, 8, 16, 16)
#undef TUNEBOOK_VECTOR

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
