// y = 2 x + 1; what is read is checked only when it is written.
template <int BLOCK>
__global__ void bounds(float* y, const float* x, long long n) {
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  const float value = x[index];
  if (index < n) y[index] = 2 * value + 1;
}
