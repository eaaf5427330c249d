// Layer normalisation of a row in f64, a block of any size per row: the mean, the squared deviations, the result, each a pass over the row.
//
// The tolerance in kernel.json, with u = 2^-24 the unit roundoff of f32, in which the template computes for every type. x is in (7, 9), with
// a deviation of 1/sqrt(3) = 0.58 about a mean of 8, gamma in (0.5, 1.5), beta in (-1, 1); z = (x - mean) * r with r = 1 / sqrt(variance +
// epsilon).
// - r is at most 1 / sqrt(1e-5 + v) if the variance of the row is at least v. That of n samples has a deviation of 0.3 / sqrt(n) about 1/3, so
//   v = max(0, 1/3 - 2 / sqrt(n)) is more than six deviations below. Rows of up to 36 elements may be all the same: r is 316 there.
// - The mean is off by 4 u times 9 at most: the sum of a thread is compensated (2 u), in a pack and between threads it is a tree, whose roundings
//   average out (1 u at six deviations), and the reciprocal of n and the product round. x - mean is rounded by 1 u: 38 u in all,
//   57 u * r in the result with gamma.
// - The variance, and with it r, is off by the same few roundings and by up to 3 u of them for squares, so r by 8 u, as are z and z * gamma, which is
//   below 1.5 * 2 * r: 24 u * r; the rest of the formula rounds z * gamma three times: 9 u * r; the one-pass sums cancel by up to 4: 24 u * r more.
// Together 114 u * r; 128 u * r. rel: the roundings of the result and of the reference to T.
// Sums of squares about 0 (mean of x^2 minus square of the mean: 64.3 - 64) leave more than 400 u of the variance, arithmetic in f16 8192 u of each x.
#include "reference.cuh"

template <typename T>
__global__ void layer_norm_reference(T* y, const T* x, const T* gamma, const T* beta, float*, float epsilon, long long, long long n) {
  const T* row = x + static_cast<long long>(blockIdx.x) * n;

  double sum = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) sum += reference::widen(row[i]);
  const double mean = reference::block_sum(sum) / static_cast<double>(n);

  double squares = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) {
    const double deviation = reference::widen(row[i]) - mean;
    squares += deviation * deviation;
  }
  const double variance = reference::block_sum(squares) / static_cast<double>(n);

  const double factor = 1 / sqrt(variance + static_cast<double>(epsilon));
  for (long long i = threadIdx.x; i < n; i += blockDim.x) {
    const double scaled = (reference::widen(row[i]) - mean) * factor * reference::widen(gamma[i]);
    y[blockIdx.x * n + i] = reference::narrow<T>(scaled + reference::widen(beta[i]));
  }
}
