// y = 2 x + 1; waits at barriers that a part of the block does not come to with BAD = 1; with BAD = 2 all come.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void divergent_barrier(float* y, const float* x, long long n, float one, float zero) {
  if constexpr (BAD != 0) {
    __shared__ unsigned passed;
    const bool second_half = threadIdx.x >= BLOCK / 2;
    if (threadIdx.x == 0) passed = 0;
    // The mistake: the second half leaves the loop, and with it a barrier, early.
    const int rounds = BAD == 1 && second_half ? 1 : 2;
#pragma unroll 1
    for (int i = 0; i < rounds; ++i) {
      __syncthreads();
    }
    __syncthreads();
    // A GPU only counts who comes to a barrier, not to which. So the second half waits for the first, which waits at the last barrier.
    if (threadIdx.x == 0) atomicExch(&passed, 1u);
    while (second_half && atomicAdd(&passed, 0u) == 0) {
    }
  }
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  y[index] = value;
}
