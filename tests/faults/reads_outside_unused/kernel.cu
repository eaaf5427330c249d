// y = 2 x + 1; reads behind its buffer without using what it read with BAD = 1; with BAD = 2 what it reads is within.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void reads_outside_unused(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  const volatile float* input = x;
  if (BAD != 0 && index == n - 1) static_cast<void>(input[BAD == 1 ? n + 4 : n - 1]);
  y[index] = value;
}
