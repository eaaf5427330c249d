// Root-mean-square normalisation of each row: y = x / sqrt(mean(x^2) + epsilon) * gamma (Zhang and Sennrich 2019). x and y are m x n,
// row-major, gamma has n elements; every n >= 1 and m from 1 to 2^31 - 1 is right.
//
// The textbook ladder, each rung a preset in kernel.json: a thread, a warp or a block per row, rows kept in registers or shared memory,
// and rows shared by several blocks: as a cluster, or by two launches that meet in a workspace.
#include "element.cuh"
#include "row.cuh"
#include "row_team.cuh"
#include "running_sum.cuh"

// The sum of squares of this thread's part of a row.
template <typename Slice>
__device__ __forceinline__ float slice_squares(Slice& slice) {
  running_sum sum;
  slice.visit([&](const typename Slice::item& values, long long) {
    float part = 0.0f;
#pragma unroll
    for (const auto& element : values.element) part += widen(element) * widen(element);
    sum.add(part);
  });
  return sum.sum;
}

// By which a row with this sum of squares is multiplied.
__device__ __forceinline__ float row_factor(float squares, long long n, float epsilon) {
  return rsqrtf(squares / static_cast<float>(n) + epsilon);
}

template <typename T, int VEC>
__device__ __forceinline__ pack<T, VEC> normalised(const pack<T, VEC>& values, const pack<T, VEC>& scales, float factor) {
  pack<T, VEC> result;
#pragma unroll
  for (int v = 0; v < VEC; ++v) narrow(widen(values.element[v]) * factor * widen(scales.element[v]), result.element[v]);
  return result;
}

// `y` and `gamma` at this thread's first column.
template <typename T, int VEC, typename Slice>
__device__ __forceinline__ void write_normalised(T* y, const T* gamma, Slice& slice, float factor) {
  slice.visit([&](const pack<T, VEC>& values, long long column) {
    store_pack(y + column, normalised<T, VEC>(values, load_pack<VEC>(gamma + column), factor));
  });
}

// What of gamma belongs to what a thread keeps of a row, COUNT packs, one every STEP columns: loaded while the row is still on its way.
template <typename T, int VEC, int COUNT, int STEP>
struct early_weights {
  pack<T, VEC> scales[COUNT > 0 ? COUNT : 1];

  template <typename Slice>
  __device__ __forceinline__ void load(const T* gamma, Slice& slice) {
    slice.visit_kept([&](const pack<T, VEC>&, long long column) { scales[column / STEP] = load_pack<VEC>(gamma + column); });
  }
  template <typename Slice>
  __device__ __forceinline__ void write_normalised(T* y, Slice& slice, float factor) const {
    slice.visit_kept([&](const pack<T, VEC>& values, long long column) {
      store_pack(y + column, normalised<T, VEC>(values, scales[column / STEP], factor));
    });
  }
};

template <typename T, int THREADS, int ROWS, int VEC, int REGISTERS, int SHARED, int UNROLL, int BLOCKS, int EARLY>
__device__ __forceinline__ void rms_norm_rows(T* y, const T* __restrict__ x, const T* __restrict__ gamma, float epsilon, long long m,
                                              long long n) {
  using Team = row_team<THREADS, ROWS, BLOCKS>;
  using Slice = row_slice<T, VEC, Team::kThreads, REGISTERS, SHARED, UNROLL, Team::kBlockThreads>;
  extern __shared__ __align__(16) unsigned char shared_memory[];

  const Team team;
  const long long row = team.row();
  const int first = team.thread() * VEC;
  Slice slice(x + row * n, row < m ? n / VEC : 0, team.thread(), reinterpret_cast<pack<T, VEC>*>(shared_memory));
  slice.hold();
  early_weights<T, VEC, EARLY ? REGISTERS : 0, Team::kThreads * VEC> weights;
  if constexpr (EARLY) weights.load(gamma + first, slice);
  team.wait_for_start();
  const float factor = row_factor(team.template reduce<0>(slice_squares(slice), plus{}), n, epsilon);
  if constexpr (EARLY) {
    weights.write_normalised(y + row * n + first, slice, factor);
  } else {
    write_normalised<T, VEC>(y + row * n + first, gamma + first, slice, factor);
  }
}

// The kernels, of which a configuration launches one, or the last two one after the other. The registers leave room for RESIDENT threads on a
// multiprocessor: some blocks read or write while others reduce. `partial` is m x BLOCKS.
template <typename T, int THREADS, int ROWS, int VEC, int REGISTERS, int SHARED, int UNROLL, int EARLY, int RESIDENT>
__global__ void __launch_bounds__(THREADS * ROWS, RESIDENT / (THREADS * ROWS))
    rms_norm(T* __restrict__ y, const T* __restrict__ x, const T* __restrict__ gamma, float*, float epsilon, long long m, long long n) {
  rms_norm_rows<T, THREADS, ROWS, VEC, REGISTERS, SHARED, UNROLL, 1, EARLY>(y, x, gamma, epsilon, m, n);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
template <typename T, int THREADS, int VEC, int REGISTERS, int SHARED, int UNROLL, int BLOCKS, int RESIDENT>
__global__ void __launch_bounds__(THREADS, RESIDENT / THREADS) __cluster_dims__(BLOCKS)
    rms_norm_cluster(T* __restrict__ y, const T* __restrict__ x, const T* __restrict__ gamma, float*, float epsilon, long long m,
                     long long n) {
  rms_norm_rows<T, THREADS, 1, VEC, REGISTERS, SHARED, UNROLL, BLOCKS, 0>(y, x, gamma, epsilon, m, n);
}
#endif

// Each of BLOCKS blocks per row: the sum of squares of its part.
template <typename T, int THREADS, int VEC, int REGISTERS, int UNROLL, int BLOCKS, int RESIDENT>
__global__ void __launch_bounds__(THREADS, RESIDENT / THREADS)
    rms_norm_partial(T*, const T* __restrict__ x, const T*, float* partial, float, long long, long long n) {
  __shared__ float warp_partial[(THREADS + 31) / 32];
  using Slice = row_slice<T, VEC, THREADS * BLOCKS, REGISTERS, 0, UNROLL, THREADS>;
  const T* const row = x + static_cast<long long>(blockIdx.x / BLOCKS) * n;
  Slice slice(row, n / VEC, blockIdx.x % BLOCKS * THREADS + threadIdx.x, nullptr);
  slice.hold();
  const float total = group_reduce<THREADS>(slice_squares(slice), plus{}, warp_partial);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

// Then each of them: its part of y. Blocks go through the rows backwards: what was read last is still in L2.
template <typename T, int THREADS, int VEC, int REGISTERS, int UNROLL, int BLOCKS, int RESIDENT>
__global__ void __launch_bounds__(THREADS, RESIDENT / THREADS)
    rms_norm_apply(T* __restrict__ y, const T* __restrict__ x, const T* __restrict__ gamma, float* partial, float epsilon, long long,
                   long long n) {
  using Slice = row_slice<T, VEC, THREADS * BLOCKS, REGISTERS, 0, UNROLL, THREADS>;
  const unsigned block = gridDim.x - 1 - blockIdx.x;
  const long long row = block / BLOCKS;
  const int thread = block % BLOCKS * THREADS + threadIdx.x;
  Slice slice(x + row * n, n / VEC, thread, nullptr);
  slice.hold();
  const float squares = warp_reduce<BLOCKS>(partial[row * BLOCKS + threadIdx.x % BLOCKS], plus{});
  write_normalised<T, VEC>(y + row * n + thread * VEC, gamma + thread * VEC, slice, row_factor(squares, n, epsilon));
}
