// Products of matrices that differ from the template's in arithmetic only: other orders of summation, which verification must
// accept, and lower precision, which it must refuse. One thread per element of C; the arguments are those of templates/matmul.
#include <cuda_fp16.h>

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ double widen(double x) { return x; }
__device__ __forceinline__ float widen(__half x) { return __half2float(x); }

// ---- other orders: each gives the sum of p(0) ... p(k - 1)

template <typename Sum, typename Product>
__device__ Sum forward(long long k, Product p) {
  Sum sum = 0;
  for (long long i = 0; i < k; ++i) sum += p(i);
  return sum;
}

template <typename Sum, typename Product>
__device__ Sum reversed(long long k, Product p) {
  Sum sum = 0;
  for (long long i = k - 1; i >= 0; --i) sum += p(i);
  return sum;
}

template <typename Sum, typename Product>
__device__ Sum blocked(long long k, Product p) {
  Sum sum = 0;
  for (long long start = 0; start < k; start += 8) {
    Sum part = 0;
    for (long long i = start; i < k && i < start + 8; ++i) part += p(i);
    sum += part;
  }
  return sum;
}

// Neighbours first, then neighbouring pairs: pending[b] is the sum of 2^b products where bit b of the count so far is set.
template <typename Sum, typename Product>
__device__ Sum pairwise(long long k, Product p) {
  Sum pending[40];
  for (long long i = 0; i < k; ++i) {
    Sum sum = p(i);
    int level = 0;
    for (; (i >> level) & 1; ++level) sum = pending[level] + sum;
    pending[level] = sum;
  }
  Sum sum = 0;
  for (int level = 0; level < 40; ++level) {
    if ((k >> level) & 1) sum = pending[level] + sum;
  }
  return sum;
}

template <typename Sum, typename Product>
__device__ Sum four_sums(long long k, Product p) {
  Sum sums[4] = {};
  for (long long i = 0; i < k; ++i) sums[i % 4] += p(i);
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

enum Order { kForward, kReversed, kBlocked, kPairwise, kFourSums };

template <typename T, typename Sum, int ORDER>
__global__ void ordered(T* c, const T* a, const T* b, long long m, long long n, long long k) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= m * n) return;
  const T* row = a + index / n * k;
  const T* column = b + index % n;
  const auto product = [&](long long i) { return static_cast<Sum>(widen(row[i])) * static_cast<Sum>(widen(column[i * n])); };
  Sum sum = 0;
  if (ORDER == kForward) sum = forward<Sum>(k, product);
  if (ORDER == kReversed) sum = reversed<Sum>(k, product);
  if (ORDER == kBlocked) sum = blocked<Sum>(k, product);
  if (ORDER == kPairwise) sum = pairwise<Sum>(k, product);
  if (ORDER == kFourSums) sum = four_sums<Sum>(k, product);
  c[index] = static_cast<T>(sum);
}

// Each product rounded before it is added: no fused multiply-add.
__global__ void not_fused(float* c, const float* a, const float* b, long long m, long long n, long long k) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= m * n) return;
  float sum = 0;
  for (long long i = 0; i < k; ++i) {
    volatile float product = a[index / n * k + i] * b[i * n + index % n];
    sum += product;
  }
  c[index] = sum;
}

// ---- lower precision

// 10 bits of fraction, to nearest even: what tensor cores read of an f32 in TF32 mode.
__device__ float to_tf32(float x) {
  unsigned bits = __float_as_uint(x);
  bits += 0xfffu + ((bits >> 13) & 1u);
  return __uint_as_float(bits & ~0x1fffu);
}

__global__ void tf32(float* c, const float* a, const float* b, long long m, long long n, long long k) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= m * n) return;
  float sum = 0;
  for (long long i = 0; i < k; ++i) sum += to_tf32(a[index / n * k + i]) * to_tf32(b[i * n + index % n]);
  c[index] = sum;
}

__global__ void half_sums(__half* c, const __half* a, const __half* b, long long m, long long n, long long k) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= m * n) return;
  __half sum = __float2half(0.0f);
  for (long long i = 0; i < k; ++i) {
    sum = __float2half(__half2float(sum) + __half2float(a[index / n * k + i]) * __half2float(b[i * n + index % n]));
  }
  c[index] = sum;
}
