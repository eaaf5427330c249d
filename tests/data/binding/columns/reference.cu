__global__ void columns_reference(float* y, const float* x, long long tiles, int rounds) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= tiles * 256) return;
  const long long base = index / 256 * 1024;
  const int row = static_cast<int>(index % 32), warp = static_cast<int>(index % 256 / 32);
  double sum = 0;
  for (int round = 0; round < rounds; ++round) sum += x[base + row * 32 + ((warp + 8 * round) & 31)];
  y[index] = static_cast<float>(sum);
}
