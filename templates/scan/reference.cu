// One block of 1024 threads, each with its share of neighbouring elements: it adds them up, then the sums of the threads before it, and
// goes through its share again. Sums are kept in a wider type than the template uses: f64 for f32, f16 and bf16, a compensated f64 for
// f64, 64 bits for i32 (and cut off, which is what sums that wrap around give).
//
// The tolerance in kernel.json, with u the unit roundoff of the sum's type (f16: 2^-24 = eps / 8192; bf16: eps / 65536) and s = scale / 6
// the standard deviation of the inputs:
// - Prefixes of tiles are added up one after the other; there are at most n / 512. The prefixes are a random walk, about sqrt(i) s after
//   i elements, and rounding each adds an error of 0.41 u times that (root mean square): 0.29 sqrt(n n / 512) u s at the end, where it is
//   largest. What is rounded inside of tiles, and inside of the shares of two_pass, leaves less. The bound is ten times as much, for
//   walks that go far are also rounded more. Where n is below 131072, no more than 256 additions follow each other.
// - rel: the last addition, and the rounding of the result and of the reference's to T.
// Sums kept in f16 fail for a quarter of the elements at n = 33, for nearly all at 65541.
#include "reference.cuh"

template <typename T>
__global__ void scan_reference(T* y, const T* __restrict__ x, unsigned long long*, unsigned long long*, int exclusive, long long n,
                               long long) {
  using Sum = typename reference::sum_of<T>::type;
  constexpr int kThreads = 1024;
  __shared__ Sum sums[kThreads];
  const int thread = threadIdx.x;
  const long long share = (n + kThreads - 1) / kThreads;
  const long long begin = thread * share < n ? thread * share : n;
  const long long end = begin + share < n ? begin + share : n;
  Sum sum = {};
#pragma unroll 8
  for (long long i = begin; i < end; ++i) sum.add(reference::widen(x[i]));
  sums[thread] = sum;
  __syncthreads();
  sum = {};
  for (int before = 0; before < thread; ++before) sum.add(sums[before]);
#pragma unroll 8
  for (long long i = begin; i < end; ++i) {
    const auto element = reference::widen(x[i]);
    if (exclusive) y[i] = reference::narrow<T>(sum.total());
    sum.add(element);
    if (!exclusive) y[i] = reference::narrow<T>(sum.total());
  }
}
