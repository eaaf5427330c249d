// y = 2 x + 1; needs more memory for its threads' local variables than the device has with BAD = 1; with BAD = 2 that fits.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void too_much_memory(float* y, const float* x, long long n, float one, float zero, const float*) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  if constexpr (BAD != 0) {
    unsigned char local[BAD == 1 ? 500000 : 1000];
    volatile unsigned char* const bytes = local;
    for (int i = 0; i < 1000; ++i) bytes[i * (sizeof local / 1000)] = static_cast<unsigned char>(i);
    value += zero * static_cast<float>(bytes[(index % 1000) * (sizeof local / 1000)]);
  }
  y[index] = value;
}
