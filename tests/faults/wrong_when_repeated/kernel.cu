// y = 2 x + 1; with BAD = 1 the third launch and all later ones on the tuned problem (verification makes two) leave element 0 unwritten;
// with BAD = 2 launches are only counted.
// WASTE steps that change nothing (one = 1, zero = 0, which the compiler cannot know) make some configurations slower than others.
__device__ unsigned launches;

template <int BLOCK, int WASTE, int BAD>
__global__ void wrong_when_repeated(float* y, const float* x, long long n, float one, float zero) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index >= n) return;
  if (BAD != 0 && index == 0 && n > 1001 && ++launches > 2 && BAD == 1) return;
  float value = 2 * x[index] + 1;
#pragma unroll 1
  for (int i = 0; i < WASTE; ++i) value = value * one + zero;
  y[index] = value;
}
