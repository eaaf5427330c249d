// y = 2 x + 1; nests an expression so deeply that it overflows the compiler's stack with BAD = 1; with BAD = 2 it is 256 deep.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
// NVRTC would raise the limit of the stack; "options" forbid it.
#define NEGATE_4 - - - -
#define NEGATE_16 NEGATE_4 NEGATE_4 NEGATE_4 NEGATE_4
#define NEGATE_64 NEGATE_16 NEGATE_16 NEGATE_16 NEGATE_16
#define DEEP NEGATE_64 NEGATE_64 NEGATE_64 NEGATE_64
#define NEGATE_1K DEEP DEEP DEEP DEEP
#define NEGATE_4K NEGATE_1K NEGATE_1K NEGATE_1K NEGATE_1K
#define NEGATE_16K NEGATE_4K NEGATE_4K NEGATE_4K NEGATE_4K
#define NEGATE_64K NEGATE_16K NEGATE_16K NEGATE_16K NEGATE_16K
#define DEEPEST NEGATE_64K NEGATE_64K NEGATE_64K NEGATE_64K

extern "C" __global__ void crashes_compiler(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
#if BAD == 1
  value = DEEPEST value;
#elif BAD == 2
  value = DEEP value;
#endif
  y[index] = value;
}
