// One cell per thread; the sum is compensated and in f64, so that it is right to the last bit also for f64.
//
// The tolerance in kernel.json, with u = eps the unit roundoff of T (f16: u = eps / 8192, that of f32) and every cell at most scale: the
// sums of neighbours are at most 2, 2, 4, 2 and 6 and round by as many u; 16 u times side = 1/8 is 2 u. The products with powers of two
// do not round, the last sum by 1 u: 3 u in all. rel: the rounding of the reference's result to T; f16: of the kernel's own too.
// Inputs rounded to TF32 (1024 u) fail this, and so do sums in f16 for f16.
#include <cuda_fp16.h>

__device__ double wide(float x) { return x; }
__device__ double wide(double x) { return x; }
__device__ double wide(__half x) { return __half2float(x); }
__device__ void rounded(double x, float& y) { y = static_cast<float>(x); }
__device__ void rounded(double x, double& y) { y = x; }
// Rounds twice; the tolerance allows more than the second rounding can add.
__device__ void rounded(double x, __half& y) { y = __float2half(static_cast<float>(x)); }

// Neumaier's sum: the roundings are kept apart.
struct compensated_sum {
  double sum = 0;
  double lost = 0;
  __device__ void add(double x) {
    const double next = sum + x;
    lost += fabs(sum) >= fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
  __device__ double value() const { return sum + lost; }
};

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
  compensated_sum sum;
  sum.add(wide(center) * wide(in[index]));
  for (long long step : neighbours) sum.add(wide(side) * wide(in[index + step]));
  rounded(sum.value(), out[index]);
}
