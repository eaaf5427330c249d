// y = 2 x + 1; needs more registers than a block of 1024 threads can have with BAD = 1; with BAD = 2 the block has 256 threads.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void too_many_registers(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  constexpr int kLive = BAD == 0 ? 1 : 128;  // all at once, so each in a register
  float live[kLive];
#pragma unroll
  for (int i = 0; i < kLive; ++i) live[i] = x[index + i < n ? index + i : 0];
  __syncthreads();  // what was read may have changed, so it has to be kept
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
#pragma unroll
  for (int i = 0; i < kLive; ++i) value += zero * live[i];
  y[index] = value;
}
