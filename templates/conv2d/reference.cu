// The plain sum over the filter, one result per thread, accumulated in f64 (the product of two f32 is exact there).
//
// The tolerance in kernel.json, with u the unit roundoff of the accumulating type (f16: 2^-24 = eps / 8192) and k = fh * fw products:
// - k^2 u holds whatever the inputs and the order of summation: k products, each at most 1, rounded once; then each sum of j terms is
//   rounded by at most j u, and one after the other gives the most, k (k + 1) / 2 - 1. It decides for k <= 4.
// - (1.25 + log2(h w) / 16) k u is for longer sums. Inputs uniform in (-1, 1) make a sum of j terms a random walk of sqrt(j) / 3, rounded
//   by 0.41 u times itself (root mean square): 0.1 k u at the end. As walks that go far are also rounded more, the chance of an error
//   above t falls as exp(-pi t / (2 * 0.137 k u)): to 6e-7 for any of h w elements at this bound.
//   The fast FIR filter (SHARED 3) adds two walks of half the length, on sums or differences of inputs: 0.11 k u.
// - 4 sqrt(k) u: roundings of the products themselves, where they are not fused.
// - rel: the rounding of the reference's result to T; f16: that of the kernel's own result too.
// Inputs rounded to TF32 (10 bits) leave 1460 sqrt(k) u, far more than the bound at k = 1089, 85 k^0.5 u. So do sums in f16 for f16.
#include "reference.cuh"

template <typename T>
__global__ void conv2d_reference(T* out, const T* image, const T* filter, long long h, long long w, int fh, int fw) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= h * w) return;
  const long long top = index / w - (fh - 1) / 2;
  const long long left = index % w - (fw - 1) / 2;
  double sum = 0;
  for (int i = 0; i < fh; ++i) {
    for (int j = 0; j < fw; ++j) {
      if (top + i < 0 || top + i >= h || left + j < 0 || left + j >= w) continue;
      sum += reference::widen(image[(top + i) * w + left + j]) * reference::widen(filter[i * fw + j]);
    }
  }
  out[index] = reference::narrow<T>(sum);
}
