// One cell per thread; the sum is compensated and in f64, so that it is right to the last bit also for f64.
//
// The tolerance in kernel.json, with u = eps the unit roundoff of T (f16: u = eps / 8192, that of f32) and every cell at most scale: the
// sums of neighbours are at most 2, 2, 4, 2 and 6 and round by as many u; 16 u times side = 1/8 is 2 u. The products with powers of two
// do not round, the last sum by 1 u: 3 u in all. rel: the rounding of the reference's result to T; f16: of the kernel's own too.
// Inputs rounded to TF32 (1024 u) fail this, and so do sums in f16 for f16.
#include "reference.cuh"

template <typename T>
__global__ void stencil3d_reference(T* out, const T* in, long long d, long long h, long long w, T center, T side) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= d * h * w) return;
  const long long x = index % w;
  const long long y = index / w % h;
  const long long z = index / w / h;
  if (x == 0 || x == w - 1 || y == 0 || y == h - 1 || z == 0 || z == d - 1) {
    out[index] = in[index];
    return;
  }
  const long long neighbours[] = {-1, 1, -w, w, -h * w, h * w};
  reference::compensated sum = {};
  sum.add(reference::widen(center) * reference::widen(in[index]));
  for (long long step : neighbours) sum.add(reference::widen(side) * reference::widen(in[index + step]));
  out[index] = reference::narrow<T>(sum.total());
}
