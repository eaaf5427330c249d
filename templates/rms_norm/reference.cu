// Root-mean-square normalisation of a row in f64, a block of any size per row: the sum of squares, then the result.
//
// The tolerance in kernel.json, with u = 2^-24 the unit roundoff of f32, in which the template computes for every type; all errors are
// relative ones, as nothing cancels. The sum of squares: 1 u of each square; up to 7 additions in a pack; 2 u over the packs of a thread, whose
// sum is compensated; up to 10 + 5 additions over the threads of a block and the blocks of a row. With the division and epsilon 27 u, half
// of which, 14 u, the square root leaves; rsqrtf 2 u, two products 2 u, the roundings of the result and the reference to f32 2 u: 20 u.
// f16 and bf16: the result and the reference's are rounded to T besides, by eps each.
// abs: the spacing of the least numbers of T, which matters for results below the normal range of f16.
// Squares in f16 (u = 2^-11) are off by up to 8192 u of f32.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ double to_double(float x) { return x; }
__device__ double to_double(__half x) { return __half2float(x); }
__device__ double to_double(__nv_bfloat16 x) { return __bfloat162float(x); }
// The 16-bit types are rounded twice; the tolerance allows more than the second rounding can add.
__device__ void from_double(double x, float& y) { y = static_cast<float>(x); }
__device__ void from_double(double x, __half& y) { y = __float2half(static_cast<float>(x)); }
__device__ void from_double(double x, __nv_bfloat16& y) { y = __float2bfloat16(static_cast<float>(x)); }

// Sums one number per thread of the block, in their order.
__device__ double block_sum(double x) {
  __shared__ double partial[1024];
  partial[threadIdx.x] = x;
  __syncthreads();
  double sum = 0;
  for (unsigned i = 0; i < blockDim.x; ++i) sum += partial[i];
  return sum;
}

template <typename T>
__global__ void rms_norm_reference(T* y, const T* x, const T* gamma, float*, float epsilon, long long, long long n) {
  const T* row = x + static_cast<long long>(blockIdx.x) * n;

  double squares = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) squares += to_double(row[i]) * to_double(row[i]);
  const double mean_square = block_sum(squares) / static_cast<double>(n);

  const double factor = 1 / sqrt(mean_square + static_cast<double>(epsilon));
  for (long long i = threadIdx.x; i < n; i += blockDim.x) {
    from_double(to_double(row[i]) * factor * to_double(gamma[i]), y[blockIdx.x * n + i]);
  }
}
