// y = 2 x + 1; has too much static and dynamic shared memory together with BAD = 1; with BAD = 2 they are as much as a block can have.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void too_much_shared_together(float* y, const float* x, long long n, float one, float zero) {
  constexpr int kCount = 16384 / 4;
  __shared__ float values[kCount];
  extern __shared__ float more[];
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  // Through shared memory and back, the last element included.
  values[kCount - 1 - threadIdx.x % kCount] = index < n ? 2 * x[index] + 1 : 0;
  __syncthreads();
  more[threadIdx.x] = values[kCount - 1 - threadIdx.x % kCount];
  if (index >= n) return;
  float value = more[threadIdx.x];
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  y[index] = value;
}
