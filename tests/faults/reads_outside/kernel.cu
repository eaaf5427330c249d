// y[i] = x[i] + x[i + 1], at the end x[i] + x[i]; reads one element behind its buffer with BAD = 1; with BAD = 2 it reads the last element twice.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void reads_outside(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  const long long next = index + 1 < n || BAD == 1 ? index + 1 : index;
  float value = x[index] + x[next];
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  y[index] = value;
}
