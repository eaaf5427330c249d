// y[i] = where `hops` steps lead from i, each to the element that the last one names (a number below 2^31, brought down below n): each
// waits for the one before it. Of a warp's lanes LANES walk.
template <int BLOCK, int LANES>
__global__ void walk(int* y, const int* next, long long n, int hops) {
  const long long walker = (static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x) / 32 * LANES + threadIdx.x % 32;
  if (threadIdx.x % 32 >= LANES || walker >= n) return;
  int at = static_cast<int>(walker);
#pragma unroll 1
  for (int hop = 0; hop < hops; ++hop) at = static_cast<int>(static_cast<unsigned long long>(next[at]) * static_cast<unsigned>(n) >> 31);
  y[walker] = at;
}
