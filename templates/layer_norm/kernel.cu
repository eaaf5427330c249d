// Layer normalisation of each row: y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, the variance being the mean squared
// deviation. x and y are m x n, row-major, gamma and beta have n elements; every n >= 1 and m from 1 to 2^31 - 1 is right.
//
// The textbook ladder, each rung a preset in kernel.json: a thread, a warp or a block per row; mean and variance in two passes, or in one
// about the row's first element (sums of squares about 0 would cancel); rows kept in registers or shared memory; and rows shared by
// several blocks: as a cluster, or by two launches that meet in a workspace.
#include "element.cuh"
#include "row.cuh"
#include "row_team.cuh"
#include "running_sum.cuh"

// The sums of x - origin and of its square over some elements.
struct moments {
  float sum;
  float squares;
};

struct add_moments {
  __device__ __forceinline__ moments operator()(moments x, moments y) const { return {x.sum + y.sum, x.squares + y.squares}; }
};

struct statistics {
  float mean;
  float factor;  // the reciprocal of the standard deviation
};

template <typename T, int VEC>
__device__ __forceinline__ moments pack_moments(const pack<T, VEC>& values, float origin) {
  moments result = {0.0f, 0.0f};
#pragma unroll
  for (int v = 0; v < VEC; ++v) {
    const float difference = widen(values.element[v]) - origin;
    result.sum += difference;
    result.squares += difference * difference;
  }
  return result;
}

// Of this thread's part of a row.
template <typename Slice>
__device__ __forceinline__ moments slice_moments(Slice& slice, float origin) {
  running_sum sum;
  running_sum squares;
  slice.visit([&](const typename Slice::item& values, long long) {
    const moments part = pack_moments(values, origin);
    sum.add(part.sum);
    squares.add(part.squares);
  });
  return {sum.sum, squares.sum};
}

__device__ __forceinline__ statistics from_moments(moments row, float origin, float reciprocal_n, float epsilon) {
  const float offset = row.sum * reciprocal_n;
  return {origin + offset, rsqrtf(fmaxf(row.squares * reciprocal_n - offset * offset, 0.0f) + epsilon)};
}

template <typename T, int VEC>
__device__ __forceinline__ pack<T, VEC> normalised(const pack<T, VEC>& values, const pack<T, VEC>& scales, const pack<T, VEC>& offsets,
                                                   statistics row) {
  pack<T, VEC> result;
#pragma unroll
  for (int v = 0; v < VEC; ++v) {
    const float value = (widen(values.element[v]) - row.mean) * row.factor;
    narrow(value * widen(scales.element[v]) + widen(offsets.element[v]), result.element[v]);
  }
  return result;
}

// `y`, `gamma` and `beta` at this thread's first column.
template <typename T, int VEC, typename Slice>
__device__ __forceinline__ void write_normalised(T* y, const T* gamma, const T* beta, Slice& slice, statistics row) {
  slice.visit([&](const pack<T, VEC>& values, long long column) {
    store_pack(y + column, normalised<T, VEC>(values, load_pack<VEC>(gamma + column), load_pack<VEC>(beta + column), row));
  });
}

// Those that belong to what a thread keeps of a row, COUNT packs, one every STEP columns: loaded while the row is still on its way.
template <typename T, int VEC, int COUNT, int STEP>
struct early_weights {
  pack<T, VEC> scales[COUNT > 0 ? COUNT : 1];
  pack<T, VEC> offsets[COUNT > 0 ? COUNT : 1];

  template <typename Slice>
  __device__ __forceinline__ void load(const T* gamma, const T* beta, Slice& slice) {
    slice.visit_kept([&](const pack<T, VEC>&, long long column) {
      scales[column / STEP] = load_pack<VEC>(gamma + column);
      offsets[column / STEP] = load_pack<VEC>(beta + column);
    });
  }
  template <typename Slice>
  __device__ __forceinline__ void write_normalised(T* y, Slice& slice, statistics row) const {
    slice.visit_kept([&](const pack<T, VEC>& values, long long column) {
      store_pack(y + column, normalised<T, VEC>(values, scales[column / STEP], offsets[column / STEP], row));
    });
  }
};

template <typename T, int THREADS, int ROWS, int VEC, int REGISTERS, int SHARED, int UNROLL, int BLOCKS, int ONE_PASS, int EARLY>
__device__ __forceinline__ void layer_norm_rows(T* y, const T* __restrict__ x, const T* __restrict__ gamma,
                                                const T* __restrict__ beta, float epsilon, long long m, long long n) {
  using Team = row_team<THREADS, ROWS, BLOCKS>;
  using Slice = row_slice<T, VEC, Team::kThreads, REGISTERS, SHARED, UNROLL, Team::kBlockThreads>;
  extern __shared__ __align__(16) unsigned char shared_memory[];

  const Team team;
  const long long row = team.row();
  const int first = team.thread() * VEC;
  Slice slice(x + row * n, row < m ? n / VEC : 0, team.thread(), reinterpret_cast<pack<T, VEC>*>(shared_memory));
  slice.hold();
  early_weights<T, VEC, EARLY ? REGISTERS : 0, Team::kThreads * VEC> weights;
  if constexpr (EARLY) weights.load(gamma + first, beta + first, slice);
  const float reciprocal_n = 1.0f / static_cast<float>(n);
  const float origin = ONE_PASS && row < m ? widen(x[row * n]) : 0.0f;
  team.wait_for_start();

  statistics result;
  if constexpr (ONE_PASS) {
    result = from_moments(team.template reduce<0>(slice_moments(slice, origin), add_moments{}), origin, reciprocal_n, epsilon);
  } else {
    running_sum sum;
    slice.visit([&](const pack<T, VEC>& values, long long) {
      float part = widen(values.element[0]);
#pragma unroll
      for (int v = 1; v < VEC; ++v) part += widen(values.element[v]);
      sum.add(part);
    });
    result.mean = team.template reduce<0>(sum.sum, plus{}) * reciprocal_n;

    running_sum squares;
    slice.visit([&](const pack<T, VEC>& values, long long) { squares.add(pack_moments(values, result.mean).squares); });
    result.factor = rsqrtf(team.template reduce<1>(squares.sum, plus{}) * reciprocal_n + epsilon);
  }
  if constexpr (EARLY) {
    weights.write_normalised(y + row * n + first, slice, result);
  } else {
    write_normalised<T, VEC>(y + row * n + first, gamma + first, beta + first, slice, result);
  }
}

// The kernels, of which a configuration launches one, or the last two one after the other. The registers leave room for RESIDENT threads on a
// multiprocessor: some blocks read or write while others reduce. `partial` is m x BLOCKS.
template <typename T, int THREADS, int ROWS, int VEC, int REGISTERS, int SHARED, int UNROLL, int ONE_PASS, int EARLY, int RESIDENT>
__global__ void __launch_bounds__(THREADS * ROWS, RESIDENT / (THREADS * ROWS))
    layer_norm(T* __restrict__ y, const T* __restrict__ x, const T* __restrict__ gamma, const T* __restrict__ beta, float*,
               float epsilon, long long m, long long n) {
  layer_norm_rows<T, THREADS, ROWS, VEC, REGISTERS, SHARED, UNROLL, 1, ONE_PASS, EARLY>(y, x, gamma, beta, epsilon, m, n);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
template <typename T, int THREADS, int VEC, int REGISTERS, int SHARED, int UNROLL, int BLOCKS, int ONE_PASS, int RESIDENT>
__global__ void __launch_bounds__(THREADS, RESIDENT / THREADS) __cluster_dims__(BLOCKS)
    layer_norm_cluster(T* __restrict__ y, const T* __restrict__ x, const T* __restrict__ gamma, const T* __restrict__ beta, float*,
                       float epsilon, long long m, long long n) {
  layer_norm_rows<T, THREADS, 1, VEC, REGISTERS, SHARED, UNROLL, BLOCKS, ONE_PASS, 0>(y, x, gamma, beta, epsilon, m, n);
}
#endif

// Each of BLOCKS blocks per row: the sums of its part.
template <typename T, int THREADS, int VEC, int REGISTERS, int UNROLL, int BLOCKS, int RESIDENT>
__global__ void __launch_bounds__(THREADS, RESIDENT / THREADS)
    layer_norm_partial(T*, const T* __restrict__ x, const T*, const T*, float* partial, float, long long, long long n) {
  __shared__ moments warp_partial[(THREADS + 31) / 32];
  using Slice = row_slice<T, VEC, THREADS * BLOCKS, REGISTERS, 0, UNROLL, THREADS>;
  const T* const row = x + static_cast<long long>(blockIdx.x / BLOCKS) * n;
  Slice slice(row, n / VEC, blockIdx.x % BLOCKS * THREADS + threadIdx.x, nullptr);
  slice.hold();
  const moments total = group_reduce<THREADS>(slice_moments(slice, widen(row[0])), add_moments{}, warp_partial);
  if (threadIdx.x == 0) reinterpret_cast<moments*>(partial)[blockIdx.x] = total;
}

// Then each of them: its part of y. Blocks go through the rows backwards: what was read last is still in L2.
template <typename T, int THREADS, int VEC, int REGISTERS, int UNROLL, int BLOCKS, int RESIDENT>
__global__ void __launch_bounds__(THREADS, RESIDENT / THREADS)
    layer_norm_apply(T* __restrict__ y, const T* __restrict__ x, const T* __restrict__ gamma, const T* __restrict__ beta, float* partial,
                     float epsilon, long long, long long n) {
  using Slice = row_slice<T, VEC, THREADS * BLOCKS, REGISTERS, 0, UNROLL, THREADS>;
  const unsigned block = gridDim.x - 1 - blockIdx.x;
  const long long row = block / BLOCKS;
  const int thread = block % BLOCKS * THREADS + threadIdx.x;
  const int first = thread * VEC;
  Slice slice(x + row * n, n / VEC, thread, nullptr);
  slice.hold();
  const moments* parts = reinterpret_cast<const moments*>(partial) + row * BLOCKS;
  const moments total = warp_reduce<BLOCKS>(parts[threadIdx.x % BLOCKS], add_moments{});
  const statistics result = from_moments(total, widen(x[row * n]), 1.0f / static_cast<float>(n), epsilon);
  write_normalised<T, VEC>(y + row * n + first, gamma + first, beta + first, slice, result);
}
