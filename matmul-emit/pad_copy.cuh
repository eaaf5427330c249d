// Copies of A and B in scratch memory whose rows begin at multiples of 8 elements, so that wide loads are right whatever the sizes. A copy
// costs a read and a write of what the product reads many times over.
#pragma once

#include "element.cuh"
#include "problem.cuh"

__device__ __forceinline__ long long padded(long long stride) { return (stride + 7) / 8 * 8; }

template <typename T>
__device__ __forceinline__ T* padded_a(double* workspace) {
  return reinterpret_cast<T*>(workspace);
}
template <typename T, transposition TA>
__device__ __forceinline__ T* padded_b(double* workspace, long long m, long long k) {
  return padded_a<T>(workspace) + (TA == transposition::t ? k : m) * padded(stride_of_a<TA>(m, k));
}
template <typename T, transposition TA, transposition TB>
__device__ __forceinline__ double* behind_padded(double* workspace, long long m, long long n, long long k) {
  return reinterpret_cast<double*>(padded_b<T, TA>(workspace, m, k) + (TB == transposition::t ? n : k) * padded(stride_of_b<TB>(n, k)));
}

// What one block copies: part of a row.
constexpr int kPadThreads = 256;
constexpr int kPadItems = 8;

template <typename T>
__device__ __forceinline__ void copy_row_part(T* to, const T* from, long long stride, long long part) {
  const long long parts = (padded(stride) + kPadThreads * kPadItems - 1) / (kPadThreads * kPadItems);
  const long long row = part / parts;
  const long long first = (part - row * parts) * (kPadThreads * kPadItems) + threadIdx.x;
  T items[kPadItems];
#pragma unroll
  for (int i = 0; i < kPadItems; ++i) {
    const long long at = first + i * kPadThreads;
    narrow(accumulator_t<T>(0), items[i]);  // behind the row: zeros, which add nothing
    if (at < stride) items[i] = from[row * stride + at];
  }
#pragma unroll
  for (int i = 0; i < kPadItems; ++i) {
    const long long at = first + i * kPadThreads;
    if (at < padded(stride)) to[row * padded(stride) + at] = items[i];
  }
}

template <typename T, transposition TA, transposition TB>
__global__ void __launch_bounds__(kPadThreads) matmul_pad(MATMUL_ARGUMENTS(T)) {
  const long long a_stride = stride_of_a<TA>(m, k);
  const long long a_parts = (TA == transposition::t ? k : m) * ((padded(a_stride) + kPadThreads * kPadItems - 1) / (kPadThreads * kPadItems));
  const long long part = blockIdx.x;
  if (part < a_parts) {
    copy_row_part(padded_a<T>(workspace), a, a_stride, part);
  } else {
    copy_row_part(padded_b<T, TA>(workspace, m, k), b, stride_of_b<TB>(n, k), part - a_parts);
  }
}
