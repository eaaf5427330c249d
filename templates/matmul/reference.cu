// The plain sum of products, one element of C per thread, accumulated in a wider type than the template uses: f64 for f16 and
// f32 (each product of two f32 is exact there), twice f64 for f64.
//
// The tolerance in kernel.json, with u the unit roundoff of the accumulating type (f16: 2^-24 = eps / 8192):
// - k^2 u holds whatever the inputs and the order of summation: k products, each at most 1, rounded once; then each sum of j terms is
//   rounded by at most j u, and one after the other gives the most, k (k + 1) / 2 - 1. It decides for k <= 4.
// - (1.25 + log2(m n) / 16) k u is for longer sums. Summed one after the other, inputs uniform in (-1, 1) make the sum a random walk
//   of sqrt(j) / 3, each rounded by 0.41 u times itself (root mean square): 0.1 k u at the end. As walks that go far are also rounded
//   more, the chance of an error above t falls as exp(-pi t / (2 * 0.137 k u)): to 6e-7 for any of m n elements at this bound. Seen:
//   at most half of it (f32, 400,000 elements for each of many k, up to k = 2^20); other orders of summation leave less.
// - 4 sqrt(k) u: roundings of the products themselves, where they are not fused.
// - rel: the rounding of the reference's result to T; f16: that of the kernel's own result too. For f16 abs is four times larger
//   than that of plain f32 sums, since tensor cores cut off where others round.
// Inputs rounded to TF32 (10 bits) leave 1460 sqrt(k) u, which fails it for 99.2 % of the elements at k = 1, 97.5 % at 1024, 82 % at
// 65536 and still a third at 2^20. So do sums in f16 for f16, and sums in f32 for f64.
#include <cuda_fp16.h>

// An unevaluated sum high + low, |low| at most half an ulp of high (up to the rounding of low itself).
struct double_double {
  double high;
  double low;
};

__device__ __forceinline__ double_double two_sum(double x, double y) {  // Knuth
  const double sum = x + y;
  const double y_part = sum - x;
  return {sum, (x - (sum - y_part)) + (y - y_part)};
}

__device__ __forceinline__ double_double two_product(double x, double y) {
  const double product = x * y;
  return {product, fma(x, y, -product)};
}

// "Dot2" of Ogita, Rump and Oishi, Accurate sum and dot product (2005): as good as if computed in twice the working precision.
struct compensated_sum {
  double high = 0;
  double low = 0;
  __device__ void add_product(double x, double y) {
    const double_double product = two_product(x, y);
    const double_double sum = two_sum(high, product.high);
    high = sum.high;
    low += sum.low + product.low;
  }
  __device__ double value() const { return high + low; }
};

struct wide_sum {
  double sum = 0;
  __device__ void add_product(double x, double y) { sum += x * y; }
  __device__ double value() const { return sum; }
};

template <typename T>
struct element;
template <>
struct element<float> {
  using sum = wide_sum;
  static __device__ double widen(float x) { return x; }
  static __device__ float narrow(double x) { return static_cast<float>(x); }
};
template <>
struct element<double> {
  using sum = compensated_sum;
  static __device__ double widen(double x) { return x; }
  static __device__ double narrow(double x) { return x; }
};
template <>
struct element<__half> {
  using sum = wide_sum;
  static __device__ double widen(__half x) { return __half2float(x); }
  // Rounds twice; the tolerance allows more than the second rounding can add.
  static __device__ __half narrow(double x) { return __float2half(static_cast<float>(x)); }
};

template <typename T>
__global__ void matmul_reference(T* c, const T* a, const T* b, long long m, long long n, long long k) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= m * n) return;
  const T* a_row = a + index / n * k;
  const T* b_column = b + index % n;
  typename element<T>::sum sum;
  for (long long p = 0; p < k; ++p) {
    sum.add_product(element<T>::widen(a_row[p]), element<T>::widen(b_column[p * n]));
  }
  c[index] = element<T>::narrow(sum.value());
}
