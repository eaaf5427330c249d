// The plain sum over channels and taps, one result per thread, accumulated in f64 (the product of two f32 is exact there).
//
// The tolerance in kernel.json, with u the unit roundoff of the accumulating type (f16: 2^-24 = eps / 8192), k = 9 * channels products of
// at most 1 and N results:
// - (1.25 + log2(N) / 16) k u: inputs uniform in (-1, 1) make a sum of j terms a random walk of sqrt(j) / 3, rounded by 0.41 u times
//   itself (root mean square): 0.1 k u at the end. As walks that go far are also rounded more, the chance of an error above t falls as
//   exp(-pi t / (2 * 0.137 k u)): to 6e-7 for any of the N results at this bound.
// - 8 sqrt(k) u: roundings of the products themselves, where they are not fused; with Winograd's transforms each of the 16 products of a
//   channel errs by 2.5 u of itself (its factors are rounded sums), and nine of them, 0.6 each (root mean square), make a pixel: 1.5 sqrt(k) u.
//   Its sums over channels round less than the plain ones: they are a ninth as long.
// - rel: the rounding of the reference's result to T; f16: that of the kernel's own result too.
// Inputs rounded to TF32 (10 bits) leave 1460 sqrt(k) u, more than thirteen times the bound at 256 channels. So do sums in f16 for f16.
#include "reference.cuh"

template <typename T>
__global__ void conv2d_nchw_reference(T* out, const T* in, const T* weights, float*, long long images, int channels, int h, int w,
                                      int filters) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= images * filters * h * w) return;
  const int x = static_cast<int>(index % w);
  const int y = static_cast<int>(index / w % h);
  const int k = static_cast<int>(index / w / h % filters);
  const long long image = index / w / h / filters;
  double sum = 0;
  for (int c = 0; c < channels; ++c) {
    const T* plane = in + (image * channels + c) * h * w;
    for (int tap = 0; tap < 9; ++tap) {
      const int from_y = y + tap / 3 - 1;
      const int from_x = x + tap % 3 - 1;
      if (from_y < 0 || from_y >= h || from_x < 0 || from_x >= w) continue;
      sum += reference::widen(plane[static_cast<long long>(from_y) * w + from_x]) *
             reference::widen(weights[(static_cast<long long>(k) * channels + c) * 9 + tap]);
    }
  }
  out[index] = reference::narrow<T>(sum);
}
