// y = 2 x + 1, by way of a workspace that is zero at first; with BAD = 1 its first element is not cleared again, with BAD = 2 it is cleared twice.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void workspace_left_dirty(float* y, const float* x, float* work, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  work[index] += 2 * x[index] + 1;
  float value = work[index];
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  y[index] = value;
  if (BAD == 1 && index == 0) return;
  work[index] = 0;
  if (BAD == 2 && index == 0) *const_cast<volatile float*>(work) = 0;
}
