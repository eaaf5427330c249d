// The plain sum over all bodies, one body per thread, in f64; for f64 the sums are compensated.
//
// The tolerance in kernel.json, with u the unit roundoff of the accumulating type (f16: 2^-24 = eps / 8192). Coordinates and masses are
// uniform in (-1, 1), the softening is 1/8: a term is at most 0.385 * 64 = 24.6, its root mean square 0.9 for each coordinate.
// - A term errs by at most 15 u of itself: 1 u from its difference; 1.5 times 4 u from the squared distance; 3 times 2 u from the
//   approximate root; 2 u from the products. 400 u covers the largest term, 80 sqrt(n) u the sum of n with independent errors (more
//   than five times its root mean square). What all terms have in common is 16 u of the result (rel).
// - n (3.4 + log2(3 n) / 6) u: summing up one after the other. The sum is a random walk of 0.9 sqrt(j), rounded by 0.41 u times itself
//   (root mean square): 0.26 n u at the end. As walks that go far are also rounded more, the chance of an error above t falls as
//   exp(-pi t / (2 * 0.37 n u)): to 1e-6 for any of the 3 n coordinates. Seen at 131,072 bodies: half of it.
// - f16: also the rounding of both results (2 eps).
// Positions or roots in f16 leave about 2^-11 = 8192 u of each term, 7400 sqrt(n) u of the sum, three times the bound at 131,072 bodies.
// In f64 the reference's own terms err by 6 u, which the 15 u have room for.
#include "reference.cuh"

template <typename T>
__global__ void nbody_reference(T* accelerations, const T* bodies, double*, long long n, T softening) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  reference::compensated sum[3] = {};
  for (long long j = 0; j < n; ++j) {
    double difference[3];
    double distance2 = reference::widen(softening) * reference::widen(softening);
    for (int c = 0; c < 3; ++c) {
      difference[c] = reference::widen(bodies[4 * j + c]) - reference::widen(bodies[4 * i + c]);
      distance2 += difference[c] * difference[c];
    }
    const double factor = reference::widen(bodies[4 * j + 3]) / (distance2 * sqrt(distance2));
    for (int c = 0; c < 3; ++c) sum[c].add(factor * difference[c]);
  }
  for (int c = 0; c < 3; ++c) accelerations[3 * i + c] = reference::narrow<T>(sum[c].total());
}
