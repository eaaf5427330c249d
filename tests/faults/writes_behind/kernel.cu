// y = 2 x + 1; writes one element behind its buffer with BAD = 1; with BAD = 2 it writes the last element twice.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void writes_behind(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  y[index] = value;
  if (BAD == 1 && index == n - 1) y[n] = value;
  if (BAD == 2 && index == n - 1) *const_cast<volatile float*>(y + n - 1) = value;
}
