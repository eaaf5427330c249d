// y = 2 x + 1; never ends with BAD = 1; with BAD = 2 it ends after 1,000 rounds.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void infinite_loop(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  const volatile float* input = x;  // reads that the compiler must not remove, and so the loop neither
  for (int i = 0; (BAD == 1 || (BAD == 2 && i < 1000)) && input[index] < 2; i += BAD == 2) {
  }
  y[index] = value;
}
