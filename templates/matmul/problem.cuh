// The problem's categories as template arguments, and what they say about the matrices in memory.
#pragma once

// The values of the dimensions ta and tb: as named, or kept transposed (A as k x m, B as n x k).
enum transposition { n, t };
// Of the dimension epilogue: c = a b, or c = alpha a b + beta c_in.
enum epilogue { none, alpha_beta };
// Of the dimension math.
enum arithmetic { ieee, tensor };

// What the kernels share, and what a launch reads of it is its own matter: the arguments in kernel.json, with their names.
#define MATMUL_ARGUMENTS(T)                                                                                                \
  T *__restrict__ c, const T *__restrict__ a, const T *__restrict__ b, long long m, long long n, long long k, double alpha, \
      double beta, const T *__restrict__ c_in, int ta, int tb, double *workspace, int *tickets

// Elements between neighbouring rows as they are kept.
template <transposition TA>
__device__ __forceinline__ long long stride_of_a(long long m, long long k) {
  return TA == transposition::t ? m : k;
}
template <transposition TB>
__device__ __forceinline__ long long stride_of_b(long long n, long long k) {
  return TB == transposition::t ? k : n;
}

// The order in which blocks take the tiles of C: along n first, or in bands of GROUP rows of tiles, down each column of a band, so
// that what runs at the same time reads few rows of A and few columns of B, and finds them in L2.
struct tile_place {
  long long row, column;  // in tiles
};
template <int GROUP>
__device__ __forceinline__ tile_place place_of_tile(long long tile, long long tiles_m, long long tiles_n) {
  // In 32 bits, since that many tiles fit no memory, and a division in 64 bits takes a subroutine.
  const unsigned at = static_cast<unsigned>(tile);
  const unsigned width = static_cast<unsigned>(tiles_n);
  if constexpr (GROUP == 1) {
    return {at / width, at % width};
  } else {
    const unsigned band = at / (GROUP * width);
    const unsigned left = static_cast<unsigned>(tiles_m) - band * GROUP;
    const unsigned rows = left < GROUP ? left : GROUP;
    const unsigned within = at - band * GROUP * width;
    return {band * GROUP + within % rows, within / rows};
  }
}

// The last step of each result. As in BLAS, c_in is not read where beta is 0: it may hold anything, NaN too.
template <epilogue EPILOGUE, typename T, typename Sum>
__device__ __forceinline__ void finish(Sum sum, double alpha, double beta, const T* c_in, T& c) {
  if constexpr (EPILOGUE == alpha_beta) {
    sum *= static_cast<Sum>(alpha);
    if (beta != 0) sum += static_cast<Sum>(beta) * widen(*c_in);
  }
  narrow(sum, c);
}
