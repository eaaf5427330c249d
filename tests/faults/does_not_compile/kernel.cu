// y = 2 x + 1; does not compile with BAD = 1; with BAD = 2 the code that does not is discarded.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void does_not_compile(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  if constexpr (BAD != 0) {
    if constexpr (BAD == 1) static_assert(BAD != 1, "this configuration is meant not to compile");
  }
  y[index] = value;
}
