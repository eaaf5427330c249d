// The plain sum of products, one element of C per thread, accumulated in a wider type than the template uses: f64 for f16, bf16 and
// f32 (each product of two f32 is exact there), twice f64 for f64.
//
// The tolerance in kernel.json, with u the unit roundoff of the accumulating type (f16: 2^-24 = eps / 8192, bf16: eps / 65536). For
// multiply-adds (math = ieee):
// - k^2 u holds whatever the inputs and the order of summation: k products, each at most 1, rounded once; then each sum of j terms is
//   rounded by at most j u, and one after the other gives the most, k (k + 1) / 2 - 1. It decides for k <= 4.
// - (1.25 + log2(m n) / 16) k u is for longer sums. Summed one after the other, inputs uniform in (-1, 1) make the sum a random walk
//   of sqrt(j) / 3, each rounded by 0.41 u times itself (root mean square): 0.1 k u at the end. As walks that go far are also rounded
//   more, the chance of an error above t falls as exp(-pi t / (2 * 0.137 k u)): to 6e-7 for any of m n elements at this bound. Seen:
//   at most half of it (f32, 400,000 elements for each of many k, up to k = 2^20); other orders of summation leave less.
// - 4 sqrt(k) u: roundings of the products themselves, where they are not fused.
// - rel: the rounding of the reference's result to T; f16, bf16: that of the kernel's own result too.
// - 4 u with alpha = 0.75 and beta = 0.5: products and sum of the epilogue are rounded by at most 2 u each time their result is in
//   (-2, 2); where it is larger, a quarter of the bound above is free, since alpha makes the error of the sum smaller.
// Inputs rounded to TF32 (10 bits) leave 1460 sqrt(k) u, which fails it for 99.2 % of the elements at k = 1, 97.5 % at 1024, 82 % at
// 65536 and still a third at 2^20. So do sums in f16 for f16, and sums in f32 for f64.
//
// For tensor cores (math = tensor; f16, bf16), which multiply exactly, add 8 (sm_80) or 16 (sm_90) products to the sum at a time, align all of
// them to the largest, cut each below 2^-24 of it, and cut the new sum to 24 bits:
// - Cutting the addends: 8 errors, uniform in [0, u) of the sum and of either sign, per step: 0.14 k u (root mean square) for inputs
//   uniform in (-1, 1). (1.25 + log2(m n) / 16) k u is then the bound of plain f32 sums: same size, same tail.
// - Cutting the sum goes toward zero, by 0.72 u of it on average, and so does not cancel: k / 8 steps of 0.72 u |s|. The mean of a
//   walk over its k steps is normal with sqrt(k) / (3 sqrt(3)): 0.0173 k sqrt(k) u times the number of standard deviations,
//   sqrt(2 ln(2e6 m n)) = sqrt(29 + 1.39 log2(m n)), which one of m n elements exceeds with probability 1e-6.
// Sums kept in f16 are off by 200 k u (root mean square).
#include "reference.cuh"

// What a workspace holds is the template's own matter.
template <typename T>
__global__ void matmul_reference(T* c, const T* a, const T* b, long long m, long long n, long long k, double alpha, double beta, const T* c_in,
                                 int ta, int tb, double*, int*) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= m * n) return;
  const long long row = index / n;
  const long long column = index % n;
  typename reference::sum_of<T>::type sum = {};
  for (long long p = 0; p < k; ++p) {
    sum.add_product(reference::widen(ta ? a[p * m + row] : a[row * k + p]), reference::widen(tb ? b[column * k + p] : b[p * n + column]));
  }
  double result = sum.total();
  if (alpha != 1 || beta != 0) {
    typename reference::sum_of<T>::type scaled = {};
    scaled.add_product(alpha, result);
    if (beta != 0) scaled.add_product(beta, reference::widen(c_in[index]));
    result = scaled.total();
  }
  c[index] = reference::narrow<T>(result);
}
