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

// What one block copies: neighbours in the copy, whatever rows they are of, so that no block has less to do for the length of the rows.
constexpr int kPadThreads = 256;
constexpr int kPadItems = 8;
constexpr int kPadPart = kPadThreads * kPadItems;

__device__ __forceinline__ long long pad_parts(long long rows, long long stride) { return (rows * padded(stride) + kPadPart - 1) / kPadPart; }

template <typename T>
__device__ __forceinline__ void copy_part(T* to, const T* from, long long rows, long long stride, long long part) {
  const long long width = padded(stride);
  const long long first = part * kPadPart + threadIdx.x;
  const long long first_row = part * kPadPart / width;
  const long long first_column = first - first_row * width;
  T items[kPadItems];
#pragma unroll
  for (int i = 0; i < kPadItems; ++i) {
    long long row = first_row;
    long long column = first_column + i * kPadThreads;
    if (width < kPadPart) {
      const unsigned down = static_cast<unsigned>(column) / static_cast<unsigned>(width);
      row += down;
      column -= down * width;
    } else if (column >= width) {
      ++row;
      column -= width;
    }
    narrow(accumulator_t<T>(0), items[i]);  // behind the row: zeros, which add nothing
    if (row < rows && column < stride) items[i] = from[row * stride + column];
  }
#pragma unroll
  for (int i = 0; i < kPadItems; ++i) {
    const long long at = first + i * kPadThreads;
    if (at < rows * width) to[at] = items[i];
  }
}

template <typename T, transposition TA, transposition TB>
__global__ void __launch_bounds__(kPadThreads) matmul_pad(MATMUL_ARGUMENTS(T)) {
  const long long a_rows = TA == transposition::t ? k : m;
  const long long a_parts = pad_parts(a_rows, stride_of_a<TA>(m, k));
  const long long part = blockIdx.x;
  if (part < a_parts) {
    copy_part(padded_a<T>(workspace), a, a_rows, stride_of_a<TA>(m, k), part);
  } else {
    copy_part(padded_b<T, TA>(workspace, m, k), b, TB == transposition::t ? n : k, stride_of_b<TB>(n, k), part - a_parts);
  }
}
