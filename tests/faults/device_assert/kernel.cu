// y = 2 x + 1; fails an assertion with BAD = 1; with BAD = 2 the assertion holds.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
#include <assert.h>

template <int BLOCK, int WASTE, int BAD>
__global__ void device_assert(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  if (BAD == 1) assert(value < 0);
  if (BAD == 2) assert(value < 4);
  y[index] = value;
}
