// One block of 1024 threads; each goes through every 1024th element, then thread 0 through what they found. Sums are kept in a wider
// type than the template uses: f64 for f32, f16 and bf16, a compensated f64 for f64, 64 bits for i32 (and cut off, which is what sums
// that wrap around give).
//
// The tolerance in kernel.json, with u the unit roundoff of the sum's type (f16: 2^-24 = eps / 8192; bf16: eps / 65536) and s = scale / 6
// the standard deviation of the inputs:
// - A sum of L terms, one after the other, is a random walk: its j-th partial sum is about sqrt(j) s, and rounding it adds an error of
//   0.41 u times that (root mean square), 0.29 L u s in all. n / L such sums, added up, leave 0.29 sqrt(n L) u s; adding them up in
//   turn leaves less if there are no more than L of them. The bound is ten times as much, for walks that go far are also rounded more.
//   L is at most n / 256 (the longest are those of shared_atomic, whose blocks are added one after the other), but of small n all of n,
//   and at most 256 where n / 256 is below that.
// - rel: the results of the kernel and of the reference are rounded to T.
// max and argmax are exact. Sums kept in f16 fail at once when they are taken one after the other; a tree of f16 additions is wrong by
// little more than the rounding of its result, and fails every second time.
#include "reference.cuh"

namespace reference {

// Whether x at i comes before y at j: NaN first, then the larger, of equals the smaller index.
template <typename Wide>
__device__ bool before(Wide x, long long i, Wide y, long long j) {
  const int x_class = x != x ? 1 : 0;
  const int y_class = y != y ? 1 : 0;
  if (x_class != y_class) return x_class > y_class;
  if (x_class == 0 && x != y) return x > y;
  return i < j;
}

}  // namespace reference

template <typename T>
__global__ void reduce_reference(T* value, long long* index, const T* __restrict__ x, unsigned long long*, unsigned long long*, int operation,
                                 long long n) {
  using Sum = typename reference::sum_of<T>::type;
  constexpr int kThreads = 1024;
  const int thread = threadIdx.x;
  if (operation == 0) {
    __shared__ Sum sums[kThreads];
    Sum sum = {};
#pragma unroll 8
    for (long long i = thread; i < n; i += kThreads) sum.add(reference::widen(x[i]));
    sums[thread] = sum;
    __syncthreads();
    if (thread == 0) {
      for (int other = 1; other < kThreads; ++other) sum.add(sums[other]);
      *value = reference::narrow<T>(sum.total());
      *index = 0;
    }
  } else {
    __shared__ long long places[kThreads];
    long long place = thread < n ? thread : 0;
#pragma unroll 8
    for (long long i = thread; i < n; i += kThreads) {
      if (reference::before(reference::widen(x[i]), i, reference::widen(x[place]), place)) place = i;
    }
    places[thread] = place;
    __syncthreads();
    if (thread == 0) {
      for (int other = 1; other < kThreads; ++other) {
        if (reference::before(reference::widen(x[places[other]]), places[other], reference::widen(x[place]), place)) place = places[other];
      }
      *value = x[place];
      *index = operation == 2 ? place : 0;
    }
  }
}
