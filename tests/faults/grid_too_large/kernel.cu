// y = 2 x + 1; has more blocks in y than a grid can with BAD = 1; with BAD = 2 it has as many as a grid can.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void grid_too_large(float* y, const float* x, long long n, float one, float zero) {
  if constexpr (BAD != 0) {
    // A block for each element; the twin's last one has two.
    if (threadIdx.x < 2 && (threadIdx.x == 0 || blockIdx.y == gridDim.y - 1)) {
      const long long element = static_cast<long long>(blockIdx.y) + threadIdx.x;
      if (element < n) y[element] = 2 * x[element] + 1;
    }
    return;
  }
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  y[index] = value;
}
