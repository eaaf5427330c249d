// Root-mean-square normalisation of a row in f64, a block of any size per row: the sum of squares, then the result.
//
// The tolerance in kernel.json, with u = 2^-24 the unit roundoff of f32, in which the template computes for every type; all errors are
// relative ones, as nothing cancels. The sum of squares: 1 u of each square; up to 7 additions in a pack; 2 u over the packs of a thread, whose
// sum is compensated; up to 10 + 5 additions over the threads of a block and the blocks of a row. With the division and epsilon 27 u, half
// of which, 14 u, the square root leaves; rsqrtf 2 u, two products 2 u, the roundings of the result and the reference to f32 2 u: 20 u.
// f16 and bf16: the result and the reference's are rounded to T besides, by eps each.
// abs: the spacing of the least numbers of T, which matters for results below the normal range of f16.
// Squares in f16 (u = 2^-11) are off by up to 8192 u of f32.
#include "reference.cuh"

template <typename T>
__global__ void rms_norm_reference(T* y, const T* x, const T* gamma, float*, float epsilon, long long, long long n) {
  const T* row = x + static_cast<long long>(blockIdx.x) * n;

  double squares = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) squares += reference::widen(row[i]) * reference::widen(row[i]);
  const double mean_square = reference::block_sum(squares) / static_cast<double>(n);

  const double factor = 1 / sqrt(mean_square + static_cast<double>(epsilon));
  for (long long i = threadIdx.x; i < n; i += blockDim.x) {
    y[blockIdx.x * n + i] = reference::narrow<T>(reference::widen(row[i]) * factor * reference::widen(gamma[i]));
  }
}
