// Softmax of a row in f64, a block of any size per row: the maximum, the sum of exponentials, the quotients, each a pass over the row.
//
// The tolerance in kernel.json, with u = 2^-24 the unit roundoff of f32, in which the template computes for every type. The inputs
// are f32, f16 or bf16 in (-8, 8), so x - max is in (-16, 0], and the bound is on the relative error of y = exp(x - max) / sum:
// - x - max is rounded by up to 16 u / 2 (it is below 16, and half an ulp there is 8 u), which exp turns into a relative error of 8 u;
//   expf adds 2 ulps at most, 4 u. Both happen to the numerator and, averaged, to the terms of the sum: 24 u.
// - Rescaling a sum to a new maximum multiplies it by an exponential with such an error. The differences of the maxima that follow each
//   other add up to at most 16, which makes 8 u in all, and each expf and each product adds 5 u to what was summed before. A thread
//   meets a new maximum ln(k) + 0.6 times in k random numbers (13 for k = 262144), but what is rescaled early is a small part of the
//   whole, and the two partial sums of each of at most 13 steps between threads and blocks are scaled by 1 where the maxima agree: 24 u.
// - The sum: at most 7 additions in a pack, as good as 2 roundings over all packs of a thread (the sum is a compensated one), and at
//   most 10 + 7 additions over the threads of a block and the blocks of a row: 26 u.
// - Reciprocal and product: 3 u.
// Together 77 u, and 96 u with a margin for the parts that are averages. Without compensation a thread that sums 262136 terms is off by
// 3800 u, since terms below 2^-25 of the sum are lost; a kernel that does that fails.
// f16 and bf16: the result and the reference's are rounded to T besides, by eps each.
// abs: the spacing of the least numbers of T, which matters for quotients below the normal range of f16; those of bf16 and f32 stay in it.
// An exponential in f16 (u = 2^-11) is off by up to 8192 u, and by more than 96 u for 98 % of the elements.
#include "reference.cuh"

template <typename T>
__global__ void softmax_reference(T* y, const T* x, float*, long long, long long n) {
  __shared__ double partial[1024];
  const T* row = x + static_cast<long long>(blockIdx.x) * n;

  double largest = __longlong_as_double(0xfff0000000000000);  // -inf
  for (long long i = threadIdx.x; i < n; i += blockDim.x) largest = fmax(largest, reference::widen(row[i]));
  partial[threadIdx.x] = largest;
  __syncthreads();
  for (unsigned i = 0; i < blockDim.x; ++i) largest = fmax(largest, partial[i]);
  __syncthreads();  // all have read the maxima

  double sum = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) sum += exp(reference::widen(row[i]) - largest);
  partial[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  for (unsigned i = 0; i < blockDim.x; ++i) sum += partial[i];

  for (long long i = threadIdx.x; i < n; i += blockDim.x) {
    y[blockIdx.x * n + i] = reference::narrow<T>(exp(reference::widen(row[i]) - largest) / sum);
  }
}
