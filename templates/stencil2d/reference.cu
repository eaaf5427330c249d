// All steps at once, in a wider type: a block makes 16 x 16 cells of the result from the part of `in` that they depend on, which it keeps
// in shared memory (two of (16 + 2 steps)^2 cells, which bounds the steps that can be verified: 51 on a GPU with 227 KiB; f64: 34).
// f64 for f16 and f32; for f64 an unevaluated sum of two.
//
// The tolerance in kernel.json, with u = eps the unit roundoff of T (f16: also u / 8192, that of f32, in which it is computed) and every
// cell at most scale, as center + 4 side = 1:
// - one step rounds the three sums of neighbours by at most (2 + 2 + 4) u times side = 1/8, the products with powers of two not at
//   all, the last sum by u: 2 u in all. Later steps average, hence add these errors with weights whose sum is 1: 2 steps u.
// - rel: the rounding of the reference's result to T; f16: that of the kernel's own result too.
// - f16 may be stored between steps, steps - 1 times, each rounded by u.
// Inputs rounded to TF32 fail this (they err by 1024 u after one step), and so do sums in f16 for f16 at one step.
#include <cuda_fp16.h>

// An unevaluated sum high + low; sums and products by powers of two of these err by about 2^-104.
struct double_double {
  double high;
  double low;
};
__device__ __forceinline__ double_double operator+(double_double a, double_double b) {
  const double sum = a.high + b.high;  // Knuth's two-sum
  const double b_part = sum - a.high;
  const double error = (a.high - (sum - b_part)) + (b.high - b_part) + (a.low + b.low);
  const double high = sum + error;
  return {high, error - (high - sum)};
}
// `factor` is a power of two.
__device__ __forceinline__ double_double operator*(double factor, double_double a) { return {factor * a.high, factor * a.low}; }

template <typename T>
struct element {
  using wide = double;
  static __device__ double widen(float x) { return x; }
  static __device__ float narrow(double x) { return static_cast<float>(x); }
};
template <>
struct element<__half> {
  using wide = double;
  static __device__ double widen(__half x) { return __half2float(x); }
  static __device__ __half narrow(double x) { return __float2half(static_cast<float>(x)); }
};
template <>
struct element<double> {
  using wide = double_double;
  static __device__ double_double widen(double x) { return {x, 0}; }
  static __device__ double narrow(double_double x) { return x.high + x.low; }
};

template <typename T>
__global__ void stencil2d_reference(T* out, const T* in, T*, long long h, long long w, int steps, int, T center_weight, T side_weight) {
  using wide = typename element<T>::wide;
  extern __shared__ __align__(16) unsigned char shared_memory[];
  const int side_length = 16 + 2 * steps;
  const int cells = side_length * side_length;
  wide* now = reinterpret_cast<wide*>(shared_memory);
  wide* next = now + cells;
  const double center = static_cast<double>(static_cast<float>(center_weight));
  const double side = static_cast<double>(static_cast<float>(side_weight));
  const long long tiles_x = (w + 15) / 16;
  const long long x0 = blockIdx.x % tiles_x * 16 - steps;
  const long long y0 = blockIdx.x / tiles_x * 16 - steps;

  for (int i = threadIdx.x; i < cells; i += blockDim.x) {
    const long long y = y0 + i / side_length;
    const long long x = x0 + i % side_length;
    now[i] = element<T>::widen(y >= 0 && y < h && x >= 0 && x < w ? in[y * w + x] : T(0));
  }
  for (int s = 1; s <= steps; ++s) {
    __syncthreads();
    const int length = side_length - 2 * s;  // of the square that can be made
    for (int i = threadIdx.x; i < length * length; i += blockDim.x) {
      const int at = (s + i / length) * side_length + s + i % length;
      const long long y = y0 + s + i / length;
      const long long x = x0 + s + i % length;
      const bool edge = y <= 0 || y >= h - 1 || x <= 0 || x >= w - 1;
      next[at] = edge ? now[at] : center * now[at] + side * (now[at - side_length] + now[at + side_length] + now[at - 1] + now[at + 1]);
    }
    __syncthreads();
    wide* const swapped = now;
    now = next;
    next = swapped;
  }
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    const long long y = y0 + steps + i / 16;
    const long long x = x0 + steps + i % 16;
    if (y < h && x < w) out[y * w + x] = element<T>::narrow(now[(steps + i / 16) * side_length + steps + i % 16]);
  }
}
