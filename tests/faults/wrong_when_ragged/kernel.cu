// y = 2 x + 1; leaves the last elements out unless n is a multiple of BLOCK with BAD = 1; with BAD = 2 it handles whole blocks and the rest apart.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void wrong_when_ragged(float* y, const float* x, long long n, float one, float zero) {
  // The mistake: only whole blocks are handled.
  const long long end = BAD != 0 ? n / BLOCK * BLOCK : n;
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (BAD == 2 && index >= end && index < n) y[index] = 2 * x[index] + 1;
  if (index >= end) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  y[index] = value;
}
