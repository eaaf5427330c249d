// y = 2 x + 1
template <int BLOCK, int ITEMS>
__global__ void unused_parameter(float* y, const float* x, long long n) {
  static_assert(ITEMS >= 1, "at least one element per thread");
  const long long stride = static_cast<long long>(gridDim.x) * BLOCK;
  long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
#pragma unroll ITEMS
  for (; index < n; index += stride) y[index] = 2 * x[index] + 1;
}
