__global__ void infinity_of_wrong_sign_reference(float* y, const float* x, long long n, float, float) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index < n) y[index] = __int_as_float(x[index] < 0 ? 0xff800000 : 0x7f800000);
}
