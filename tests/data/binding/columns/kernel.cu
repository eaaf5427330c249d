// y = the sums of the columns of tiles of 32 x 32, ROUNDS times over: a warp reads a column of a tile in shared memory, whose rows are
// 32 + PAD elements long. Without padding a column is in one bank.
template <int PAD>
__global__ void columns(float* y, const float* x, long long tiles, int rounds) {
  __shared__ float tile[32][32 + PAD];
  const long long base = static_cast<long long>(blockIdx.x) * 1024;
  for (int row = threadIdx.y; row < 32; row += 8) tile[row][threadIdx.x] = x[base + row * 32 + threadIdx.x];
  __syncthreads();
  float sum = 0;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    // Each warp its own columns, in an order that depends on the round: nothing can be kept.
    sum += tile[threadIdx.x][(threadIdx.y + 8 * round) & 31];
  }
  y[static_cast<long long>(blockIdx.x) * 256 + threadIdx.y * 32 + threadIdx.x] = sum;
}
