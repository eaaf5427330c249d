// y = 2 x + 1; changes its input with BAD = 1; with BAD = 2 it writes to its input what is there.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void modifies_input(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  volatile float* const input = const_cast<float*>(x);
  if (BAD == 1) input[index] = value;
  if (BAD == 2) input[index] = input[index];
  y[index] = value;
}
