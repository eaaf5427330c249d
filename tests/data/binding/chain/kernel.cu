// y = x after `rounds` steps of x = x a + b: as much arithmetic for each element as is asked for, ITEMS elements a thread side by side.
// MIN_BLOCKS blocks must fit an SM: what that leaves of registers may be too few for ITEMS elements.
template <int BLOCK, int ITEMS, int MIN_BLOCKS>
__global__ void __launch_bounds__(BLOCK, MIN_BLOCKS) chain(float* y, const float* x, long long n, int rounds, float a, float b) {
  extern __shared__ float unused[];
  if (rounds < 0) y[0] = unused[threadIdx.x];  // never: the shared memory is there to take up room
  const long long stride = static_cast<long long>(gridDim.x) * BLOCK * ITEMS;
  for (long long first = static_cast<long long>(blockIdx.x) * BLOCK * ITEMS; first < n; first += stride) {
    float value[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      const long long index = first + i * BLOCK + threadIdx.x;
      value[i] = index < n ? x[index] : 0;
    }
    // Of many elements one step at a time: several at once would need few registers at a time.
    constexpr int kUnroll = ITEMS >= 64 ? 1 : 8;
#pragma unroll kUnroll
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) value[i] = value[i] * a + b;
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      const long long index = first + i * BLOCK + threadIdx.x;
      if (index < n) y[index] = value[i];
    }
  }
}
