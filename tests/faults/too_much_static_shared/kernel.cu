// y = 2 x + 1; has more static shared memory than a block can with BAD = 1; with BAD = 2 it has as much as a block can.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void too_much_static_shared(float* y, const float* x, long long n, float one, float zero) {
  constexpr int kCount = BAD == 1 ? 49152 / 4 + 1 : BAD == 2 ? 49152 / 4 : BLOCK;
  __shared__ float values[kCount];
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  // Through shared memory and back, the last element included.
  values[kCount - 1 - threadIdx.x % kCount] = index < n ? 2 * x[index] + 1 : 0;
  __syncthreads();
  if (index >= n) return;
  float value = values[kCount - 1 - threadIdx.x % kCount];
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  y[index] = value;
}
