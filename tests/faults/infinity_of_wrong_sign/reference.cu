__global__ void infinity_of_wrong_sign_reference(float* y, const float* x, long long n, float, float) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index < n) y[index] = x[index] < 0 ? -__builtin_inff() : __builtin_inff();
}
