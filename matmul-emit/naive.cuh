// One result per thread, everything read from global memory: the first rung.
#pragma once

#include "element.cuh"
#include "problem.cuh"

template <typename T, transposition TA, transposition TB, epilogue EPILOGUE, int BM, int BN, int UNROLL>
__global__ void __launch_bounds__(BM* BN) matmul_naive(MATMUL_ARGUMENTS(T)) {
  const long long tiles_n = (n + BN - 1) / BN;
  const long long row = blockIdx.x / tiles_n * BM + threadIdx.x / BN;
  const long long column = blockIdx.x % tiles_n * BN + threadIdx.x % BN;
  if (row >= m || column >= n) return;

  const long long a_step = TA == transposition::t ? m : 1;
  const long long b_step = TB == transposition::t ? 1 : n;
  const T* a_next = TA == transposition::t ? a + row : a + row * k;
  const T* b_next = TB == transposition::t ? b + column * k : b + column;
  accumulator_t<T> sum = 0;
  long long p = 0;
#pragma unroll 1
  for (; p + UNROLL <= k; p += UNROLL) {
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) sum += widen(a_next[u * a_step]) * widen(b_next[u * b_step]);
    a_next += UNROLL * a_step;
    b_next += UNROLL * b_step;
  }
#pragma unroll 1
  for (; p < k; ++p) {
    sum += widen(*a_next) * widen(*b_next);
    a_next += a_step;
    b_next += b_step;
  }
  finish<EPILOGUE>(sum, alpha, beta, c_in + row * n + column, c[row * n + column]);
}
