// y = 2 x + 1; gives another result in each run with BAD = 1; with BAD = 2 that is declared.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
__device__ unsigned tickets;

template <int BLOCK, int WASTE, int BAD>
__global__ void different_each_run(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  // Which thread comes first is chance, and the count goes on from run to run.
  if (BAD != 0) value += 1e-6f * static_cast<float>(atomicAdd(&tickets, 1u) % 256);
  y[index] = value;
}
