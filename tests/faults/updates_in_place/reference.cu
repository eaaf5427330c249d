__global__ void updates_in_place_reference(float* y, long long n, float, float) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index < n) y[index] = static_cast<float>(2.0 * y[index] + 1.0);
}
