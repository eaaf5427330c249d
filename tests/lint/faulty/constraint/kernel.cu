// y = 2 x + 1
template <int BLOCK>
__global__ void constraint(float* y, const float* x, long long n) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index < n) y[index] = 2 * x[index] + 1;
}
