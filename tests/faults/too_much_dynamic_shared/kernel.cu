// y = 2 x + 1; is launched with more dynamic shared memory than a block can have with BAD = 1; with BAD = 2 with as much as a block can.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void too_much_dynamic_shared(float* y, const float* x, long long n, float one, float zero) {
  extern __shared__ float values[];
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  values[BLOCK - 1 - threadIdx.x] = index < n ? 2 * x[index] + 1 : 0;
  __syncthreads();
  if (index >= n) return;
  float value = values[BLOCK - 1 - threadIdx.x];
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  y[index] = value;
}
