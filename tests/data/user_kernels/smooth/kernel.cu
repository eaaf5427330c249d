// Smoothing in several launches, each of STEPS steps, from one buffer to the other such that the last writes y; then the sum of y by
// SUM_BLOCKS blocks, the last of which, or a further launch, adds up.
template <typename T, int BLOCK, int STEPS>
__global__ void smooth(T* y, double*, const T* x, T* between, double*, unsigned*, long long n, long long steps, long long first_step,
                       long long launches, long long launch) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  constexpr int kWidth = BLOCK + 2 * STEPS;
  T* now = reinterpret_cast<T*>(shared_memory);
  T* next = now + kWidth;
  const T* from = launch == 0 ? x : (launches - launch) % 2 == 0 ? y : between;
  T* to = (launches - launch) % 2 == 1 ? y : between;
  const long long start = static_cast<long long>(blockIdx.x) * BLOCK - STEPS;
  for (int i = threadIdx.x; i < kWidth; i += BLOCK) now[i] = start + i >= 0 && start + i < n ? from[start + i] : T(0);
  for (int step = 0; step < STEPS; ++step) {
    __syncthreads();
    const bool last = first_step + step >= steps;  // nothing left to do
    for (int i = threadIdx.x; i < kWidth; i += BLOCK) {
      const long long at = start + i;
      T value = now[i];
      if (!last && at >= 0 && at < n && i > 0 && i + 1 < kWidth) value = (now[i - 1] + now[i] + now[i + 1]) / T(3);
      next[i] = value;
    }
    T* const swapped = now;
    now = next;
    next = swapped;
  }
  __syncthreads();
  const long long mine = start + STEPS + threadIdx.x;
  if (mine < n) to[mine] = now[STEPS + threadIdx.x];
}

template <typename T, int SUM_BLOCKS>
__global__ void partial_sums(T* y, double* sum, const T*, T*, double* sums, unsigned*, long long n, long long, long long, long long, long long) {
  __shared__ double part[64];
  double mine = 0;
  for (long long i = static_cast<long long>(blockIdx.x) * 64 + threadIdx.x; i < n; i += 64 * SUM_BLOCKS) mine += y[i];
  part[threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  double total = 0;
  for (int i = 0; i < 64; ++i) total += part[i];
  if (SUM_BLOCKS == 1) *sum = total;
  else sums[blockIdx.x] = total;
}

template <typename T>
__global__ void final_sum(T*, double* sum, const T*, T*, double* sums, unsigned* finished, long long, long long, long long, long long, long long) {
  *finished += 1;  // zero until now
  double total = 0;
  for (int i = 0; i < 4; ++i) total += sums[i] * *finished;
  *sum = total;
  *finished = 0;
}
