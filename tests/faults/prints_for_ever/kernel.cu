// y = 2 x + 1; prints without end with BAD = 1; with BAD = 2 it prints one line.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
#include <stdio.h>

template <int BLOCK, int WASTE, int BAD>
__global__ void prints_for_ever(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  while (BAD == 1 || (BAD == 2 && index == 0)) {
    printf("element %lld of %lld is %f\n", index, n, value);
    if (BAD == 2) break;
  }
  y[index] = value;
}
