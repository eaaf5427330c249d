// The element types of the bundled templates, and the type each is computed in.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// What sums and products of T are kept in: f32 for the 16-bit types, T itself for the others.
template <typename T>
struct accumulator {
  using type = T;
};
template <>
struct accumulator<__half> {
  using type = float;
};
template <>
struct accumulator<__nv_bfloat16> {
  using type = float;
};
template <typename T>
using accumulator_t = typename accumulator<T>::type;

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ double widen(double x) { return x; }
__device__ __forceinline__ int widen(int x) { return x; }
__device__ __forceinline__ long long widen(long long x) { return x; }
__device__ __forceinline__ float widen(__half x) { return __half2float(x); }
__device__ __forceinline__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }

__device__ __forceinline__ void narrow(float x, float& y) { y = x; }
__device__ __forceinline__ void narrow(double x, double& y) { y = x; }
__device__ __forceinline__ void narrow(int x, int& y) { y = x; }
__device__ __forceinline__ void narrow(long long x, long long& y) { y = x; }
__device__ __forceinline__ void narrow(float x, __half& y) { y = __float2half(x); }
__device__ __forceinline__ void narrow(float x, __nv_bfloat16& y) { y = __float2bfloat16(x); }
