// y = 2 x + 1; writes far outside its buffer with BAD = 1; with BAD = 2 it only computes such an address.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void illegal_address(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  float* const far = y + (1ll << 42);  // 16 TiB away: mapped on no device
  if (BAD == 1) far[index] = value;
  if (BAD == 2) y = far - (1ll << 42);
  y[index] = value;
}
