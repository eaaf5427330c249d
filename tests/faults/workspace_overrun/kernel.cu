// y = 2 x + 1, by way of a workspace of n + BLOCK elements; with BAD = 1 it writes one element behind that, with BAD = 2 the last one twice.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void workspace_overrun(float* y, const float* x, float* work, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  work[index + BLOCK] = 2 * x[index] + 1;
  float value = work[index + BLOCK];
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  y[index] = value;
  if (BAD == 1 && index == n - 1) work[n + BLOCK] = value;
  if (BAD == 2 && index == n - 1) *const_cast<volatile float*>(work + n + BLOCK - 1) = value;
}
