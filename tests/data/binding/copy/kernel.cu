// y = x by ITEMS elements a thread and step.
template <int BLOCK, int ITEMS>
__global__ void copy(float* y, const float* x, long long n) {
  const long long stride = static_cast<long long>(gridDim.x) * BLOCK * ITEMS;
  for (long long first = static_cast<long long>(blockIdx.x) * BLOCK * ITEMS + threadIdx.x; first < n; first += stride) {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      if (first + i * BLOCK < n) y[first + i * BLOCK] = x[first + i * BLOCK];
    }
  }
}
