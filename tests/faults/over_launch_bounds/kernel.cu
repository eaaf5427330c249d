// y = 2 x + 1; is launched with more threads than its launch bounds allow with BAD = 1; with BAD = 2 they allow as many.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void __launch_bounds__(BAD == 1 ? BLOCK / 2 : BLOCK) over_launch_bounds(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  y[index] = value;
}
