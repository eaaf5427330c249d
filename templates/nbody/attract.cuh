// What one body does to another.
#pragma once

#include "element.cuh"
#include "pack.cuh"

// To 2 ulp. What it is given is at least softening^2, so that flushing subnormals changes nothing; handling them would cost three more
// instructions for each interaction.
__device__ __forceinline__ float inverse_sqrt(float x) {
#ifdef TUNEBOOK_CPU
  return rsqrtf(x);
#else
  float result;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#endif
}
__device__ __forceinline__ double inverse_sqrt(double x) { return rsqrt(x); }

template <typename Sum>
struct vector3 {
  Sum x, y, z;
};

// 20 floating-point operations by convention: 3 differences, 6 for the distance, 3 products and 6 for the sums, 2 for the root.
template <typename Sum>
__device__ __forceinline__ void attract(vector3<Sum>& acceleration, const vector3<Sum>& at, const pack<Sum, 4>& body, Sum softening2) {
  const Sum dx = body.element[0] - at.x;
  const Sum dy = body.element[1] - at.y;
  const Sum dz = body.element[2] - at.z;
  const Sum inverse = inverse_sqrt(dx * dx + (dy * dy + (dz * dz + softening2)));
  const Sum factor = (body.element[3] * inverse) * (inverse * inverse);
  acceleration.x += dx * factor;
  acceleration.y += dy * factor;
  acceleration.z += dz * factor;
}

// Past the end: no mass, which attracts nothing.
template <typename T>
__device__ __forceinline__ pack<accumulator_t<T>, 4> load_body(const T* __restrict__ bodies, long long index, long long n) {
  pack<accumulator_t<T>, 4> body{};
  if (index < n) {
    const auto read = load_pack<4>(bodies + index * 4);
#pragma unroll
    for (int c = 0; c < 4; ++c) body.element[c] = widen(read.element[c]);
  }
  return body;
}
