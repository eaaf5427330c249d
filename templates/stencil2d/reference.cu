// All steps at once, in a wider type (f64 for f16 and f32; for f64 an unevaluated sum of two): a block makes 16 x 16 cells of the result
// (f64: 8 x 8) from the part of `in` that they depend on, which it keeps in shared memory. That bounds the steps that can be
// verified: 77 (f64: 56) where a block may have 227 KiB.
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
  constexpr int kTile = sizeof(T) == 8 ? 8 : 16;
  const int pitch = kTile + 2 * steps;
  wide* const cells = reinterpret_cast<wide*>(shared_memory);
  const double center = static_cast<double>(static_cast<float>(center_weight));
  const double side = static_cast<double>(static_cast<float>(side_weight));
  const long long tiles_x = (w + kTile - 1) / kTile;
  const long long x0 = blockIdx.x % tiles_x * kTile - steps;
  const long long y0 = blockIdx.x / tiles_x * kTile - steps;
  const int threads = blockDim.x;

  for (int i = threadIdx.x; i < pitch * pitch; i += threads) {
    const long long y = y0 + i / pitch;
    const long long x = x0 + i % pitch;
    cells[i] = element<T>::widen(y >= 0 && y < h && x >= 0 && x < w ? in[y * w + x] : T(0));
  }
  __syncthreads();
  // In place: the square that a step can make is written one row up and one column left, where no later cell of this step reads.
  for (int s = 1; s <= steps; ++s) {
    const int length = pitch - 2 * s;
    for (int first = 0; first < length * length; first += threads) {
      const int i = first + threadIdx.x;
      const int row = i / length;
      const int column = i % length;
      wide made{};
      if (row < length) {
        const wide* cell = cells + (row + 1) * pitch + column + 1;
        const long long y = y0 + s + row;
        const long long x = x0 + s + column;
        const bool edge = y <= 0 || y >= h - 1 || x <= 0 || x >= w - 1;
        made = edge ? *cell : center * *cell + side * (cell[-pitch] + cell[pitch] + cell[-1] + cell[1]);
      }
      __syncthreads();
      if (row < length) cells[row * pitch + column] = made;
      __syncthreads();
    }
  }
  for (int i = threadIdx.x; i < kTile * kTile; i += threads) {
    const long long y = y0 + steps + i / kTile;
    const long long x = x0 + steps + i % kTile;
    if (y < h && x < w) out[y * w + x] = element<T>::narrow(cells[i / kTile * pitch + i % kTile]);
  }
}
