__global__ void walk_reference(int* y, const int* next, long long n, int hops) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= n) return;
  long long at = index;
  for (int hop = 0; hop < hops; ++hop) at = next[at] * n / (1ll << 31);
  y[index] = static_cast<int>(at);
}
