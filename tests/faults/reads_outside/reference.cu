__global__ void reads_outside_reference(float* y, const float* x, long long n, float, float) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index < n) y[index] = x[index] + x[index + 1 < n ? index + 1 : index];
}
