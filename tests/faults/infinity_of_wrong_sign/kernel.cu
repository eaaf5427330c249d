// y = infinity with the sign of x; writes infinity of the wrong sign with BAD = 1; with BAD = 2 the signs are right.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
template <int BLOCK, int WASTE, int BAD>
__global__ void infinity_of_wrong_sign(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  float value = x[index];
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  value = (BAD == 1 ? one : value) / zero;  // the mistake: the sign is lost
  y[index] = value;
}
