// What the reference kernels share: elements in the wider type that references compute in, and sums of those. No template's own kernel uses it.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace reference {

__device__ __forceinline__ double widen(float x) { return x; }
__device__ __forceinline__ double widen(double x) { return x; }
__device__ __forceinline__ long long widen(int x) { return x; }
__device__ __forceinline__ long long widen(long long x) { return x; }
__device__ __forceinline__ double widen(__half x) { return __half2float(x); }
__device__ __forceinline__ double widen(__nv_bfloat16 x) { return __bfloat162float(x); }

// From f64 to 16 bits it rounds twice; the tolerances allow more than the second rounding can add.
template <typename T, typename Wide>
__device__ __forceinline__ T narrow(Wide x) {
  if constexpr (sizeof(T) == 2) return static_cast<T>(static_cast<float>(x));
  else return static_cast<T>(x);
}

// An unevaluated sum high + low, as good as if computed in twice the precision ("Sum2" and "Dot2" of Ogita, Rump and Oishi, Accurate
// sum and dot product, 2005). Begins as {}.
struct compensated {
  double high;
  double low;
  __device__ void add(double x) {
    const double sum = high + x;  // Knuth's two-sum
    const double part = sum - high;
    low += (high - (sum - part)) + (x - part);
    high = sum;
  }
  __device__ void add(const compensated& other) {
    add(other.high);
    low += other.low;
  }
  __device__ void add_product(double x, double y) {
    const double product = x * y;
    low += fma(x, y, -product);
    add(product);
  }
  __device__ double total() const { return high + low; }
};

template <typename Wide>
struct plain {
  Wide sum;
  __device__ void add(Wide x) { sum += x; }
  __device__ void add(const plain& other) { sum += other.sum; }
  __device__ void add_product(Wide x, Wide y) { sum += x * y; }
  __device__ Wide total() const { return sum; }
};

// What sums of T are kept in. Those of integers may wrap around.
template <typename T>
struct sum_of {
  using type = plain<double>;
};
template <>
struct sum_of<double> {
  using type = compensated;
};
template <>
struct sum_of<int> {
  using type = plain<unsigned long long>;
};
template <>
struct sum_of<long long> {
  using type = plain<unsigned long long>;
};

// The sum of one number per thread of a block of up to 1024, added in their order.
__device__ __forceinline__ double block_sum(double x) {
  __shared__ double partial[1024];
  __syncthreads();  // an earlier sum has been read
  partial[threadIdx.x] = x;
  __syncthreads();
  double sum = 0;
  for (unsigned i = 0; i < blockDim.x; ++i) sum += partial[i];
  return sum;
}

}  // namespace reference
