// Softmax of each row: y = exp(x - max) / sum(exp(x - max)). x and y are m x n, row-major; every n >= 1 and m from 1 to 2^31 - 1 is right.
// An element of -inf becomes 0; a row of nothing else, and one with NaN or +inf, becomes NaN.
//
// One template holds the textbook ladder: a thread, a warp or a block per row, three passes or two ("online": the maximum and the
// sum in one, Milakov and Gimelshein 2018), rows kept in registers or shared memory, and rows shared by several blocks: as a
// cluster, or by two launches that meet in a workspace. Each rung is a preset in kernel.json.
#include "element.cuh"
#include "row.cuh"
#include "row_queue.cuh"
#include "row_team.cuh"
#include "running_sum.cuh"

// The sum of exp(x - base) over some elements, base their maximum; (-inf, 0) for none.
struct exp_sum {
  float maximum;
  float sum;
};

__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xff800000); }

// What to subtract under a maximum: -inf - -inf is NaN, but exp(-inf - 0) is the 0 that is meant.
__device__ __forceinline__ float finite_base(float maximum) { return maximum == minus_infinity() ? 0.0f : maximum; }

struct join {
  __device__ __forceinline__ exp_sum operator()(exp_sum x, exp_sum y) const {
    const float maximum = fmaxf(x.maximum, y.maximum);
    const float base = finite_base(maximum);
    return {maximum, x.sum * expf(x.maximum - base) + y.sum * expf(y.maximum - base)};
  }
};

// As the one for any operation, with one exponential instead of two in each step.
template <int LANES = 32>
__device__ __forceinline__ exp_sum warp_reduce(exp_sum value, join) {
  const float largest = warp_reduce<LANES>(value.maximum, maximum{});
  return {largest, warp_reduce<LANES>(value.sum * expf(value.maximum - finite_base(largest)), plus{})};
}

template <typename T, int VEC>
__device__ __forceinline__ float pack_maximum(const pack<T, VEC>& values) {
  float result = widen(values.element[0]);
#pragma unroll
  for (int v = 1; v < VEC; ++v) result = fmaxf(result, widen(values.element[v]));
  return result;
}

template <typename T, int VEC>
__device__ __forceinline__ float pack_exp_sum(const pack<T, VEC>& values, float base) {
  float result = expf(widen(values.element[0]) - base);
#pragma unroll
  for (int v = 1; v < VEC; ++v) result += expf(widen(values.element[v]) - base);
  return result;
}

// This thread's part of a row, from its elements to its quotients. What is kept of the row is turned into exponentials at once if it is
// f32, so that each is computed once; rounded to 16 bits they would be no good.
template <typename T, int VEC, typename Slice>
class row_part {
 public:
  static constexpr bool kKeepExponentials = sizeof(T) == 4;
  static constexpr int kGroups = Slice::kGroups;

  __device__ __forceinline__ explicit row_part(Slice& slice) : slice_(slice) {}

  __device__ __forceinline__ float maximum() {
    float result = minus_infinity();
    slice_.arrive();
    slice_.visit([&](const pack<T, VEC>& values, long long) { result = fmaxf(result, pack_maximum(values)); });
    return result;
  }

  // The sum of exp(x - base), base the row's maximum or the 0 in its place.
  __device__ __forceinline__ float sum(float base) {
    running_sum result;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) add_group(result, group, base, base);
    slice_.visit_rest([&](const pack<T, VEC>& values, long long) { result.add(pack_exp_sum(values, base)); });
    return result.sum;
  }

  // The maximum and the sum, what is not kept being read once for both.
  __device__ __forceinline__ exp_sum online_sum() {
    float largest = minus_infinity();
    running_sum result;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const float before = largest;
      slice_.arrive(group);
      slice_.visit_group(group, [&](const pack<T, VEC>& values, long long) { largest = fmaxf(largest, pack_maximum(values)); });
      const float base = finite_base(largest);
      if (group > 0) result.scale(expf(before - base));
      add_group(result, group, base, largest);
    }
    slice_.visit_rest([&](const pack<T, VEC>& values, long long) {
      const float next = fmaxf(largest, pack_maximum(values));
      const float base = finite_base(next);
      result.scale(expf(largest - base));
      result.add(pack_exp_sum(values, base));
      largest = next;
    });
    return {largest, result.sum};
  }

  // `y` is the element of the row at this thread's first column; ELEMENTS: nothing was turned into exponentials.
  template <bool ELEMENTS = !kKeepExponentials>
  __device__ __forceinline__ void write_quotients(T* y, exp_sum row) {
    const float base = finite_base(row.maximum);
    const float factor = 1.0f / row.sum;
    auto write = [&](const pack<T, VEC>& values, long long column) {
      pack<T, VEC> result;
#pragma unroll
      for (int v = 0; v < VEC; ++v) narrow(expf(widen(values.element[v]) - base) * factor, result.element[v]);
      store_pack(y + column, result);
    };
    if constexpr (ELEMENTS) {
      slice_.visit_kept(write);
    } else {
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        const float group_factor = factor * expf(group_maximum_[group] - base);
        slice_.visit_group(group, [&](const pack<T, VEC>& values, long long column) {
          pack<T, VEC> result;
#pragma unroll
          for (int v = 0; v < VEC; ++v) result.element[v] = values.element[v] * group_factor;
          store_pack(y + column, result);
        });
      }
    }
    slice_.visit_rest(write);
  }

 private:
  // `largest` is the maximum that `base` was made of: where it is -inf all exponentials are 0, and must be multiplied by 0 in the end.
  __device__ __forceinline__ void add_group(running_sum& result, int group, float base, float largest) {
    group_maximum_[group] = largest;
    slice_.visit_group(group, [&](pack<T, VEC>& values, long long) {
      if constexpr (kKeepExponentials) {
        float sum = 0.0f;
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          values.element[v] = expf(values.element[v] - base);
          sum += values.element[v];
        }
        result.add(sum);
      } else {
        result.add(pack_exp_sum(values, base));
      }
    });
  }

  Slice& slice_;
  float group_maximum_[kGroups];  // what is kept has become exp(x - group_maximum_)
};

// The maximum and the sum of a row, and its quotients, from each thread's part of it.
template <int ONLINE, typename T, typename Part, typename Team>
__device__ __forceinline__ void finish_row(T* y, Part part, const Team& team, int turn) {
  exp_sum total;
  if constexpr (ONLINE) {
    total = team.template reduce<0>(part.online_sum(), join{}, turn);
  } else {
    total.maximum = team.template reduce<0>(part.maximum(), maximum{}, turn);
    total.sum = team.template reduce<1>(part.sum(finite_base(total.maximum)), plus{}, turn);
  }
  part.write_quotients(y, total);
}

template <typename T, int THREADS, int ROWS, int VEC, int REGISTERS, int SHARED, int UNROLL, int BLOCKS, int ONLINE>
__device__ __forceinline__ void softmax_rows(T* y, const T* x, long long m, long long n) {
  using Team = row_team<THREADS, ROWS, BLOCKS>;
  using Slice = row_slice<T, VEC, Team::kThreads, REGISTERS, SHARED, UNROLL, Team::kBlockThreads>;
  extern __shared__ __align__(16) unsigned char shared_memory[];

  const Team team;
  const long long row = team.row();
  Slice slice(x + row * n, row < m ? n / VEC : 0, team.thread(), reinterpret_cast<pack<T, VEC>*>(shared_memory));
  slice.hold();
  team.wait_for_start();
  finish_row<ONLINE>(y + row * n + team.thread() * VEC, row_part<T, VEC, Slice>(slice), team, 0);
}

// A cluster's rows, one after the other. WHOLE: as in row_queue.
template <typename T, int THREADS, int VEC, int REGISTERS, int SHARED, int BLOCKS, int ONLINE, int TURNS, bool WHOLE>
__device__ __forceinline__ void softmax_turns(T* y, const T* x, long long m, long long n) {
  using Team = row_team<THREADS, 1, BLOCKS>;
  using Queue = row_queue<T, VEC, Team::kThreads, REGISTERS, SHARED, Team::kBlockThreads, WHOLE>;
  extern __shared__ __align__(16) unsigned char shared_memory[];

  const Team team;
  auto row_of = [=](int turn) { return turn < TURNS ? team.row() + turn * team.rows_at_a_time() : m; };
  auto packs = [=](long long row) { return row < m ? n / VEC : 0; };
  Queue queue(team.thread(), reinterpret_cast<pack<T, VEC>*>(shared_memory));
  queue.begin(x + row_of(0) * n, packs(row_of(0)), x + row_of(1) * n, packs(row_of(1)));
  team.wait_for_start();
#pragma unroll 1
  for (int turn = 0; row_of(turn) < m; ++turn) {
    const long long sent_for = row_of(turn + 2);
    queue.advance(x + sent_for * n, packs(sent_for));
    finish_row<ONLINE>(y + row_of(turn) * n + team.thread() * VEC, row_part<T, VEC, Queue>(queue), team, turn);
  }
}

// The kernels, of which a configuration launches one, or the last two one after the other. The registers leave room for RESIDENT threads on a
// multiprocessor: some blocks read or write while others reduce. `partial` is m x BLOCKS.
template <typename T, int THREADS, int ROWS, int VEC, int REGISTERS, int SHARED, int UNROLL, int ONLINE, int RESIDENT>
__global__ void __launch_bounds__(THREADS * ROWS, RESIDENT / (THREADS * ROWS))
    softmax(T* __restrict__ y, const T* __restrict__ x, float*, long long m, long long n) {
  softmax_rows<T, THREADS, ROWS, VEC, REGISTERS, SHARED, UNROLL, 1, ONLINE>(y, x, m, n);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
template <typename T, int THREADS, int VEC, int REGISTERS, int SHARED, int UNROLL, int BLOCKS, int ONLINE, int TURNS, int RESIDENT>
__global__ void __launch_bounds__(THREADS, RESIDENT / THREADS) __cluster_dims__(BLOCKS)
    softmax_cluster(T* __restrict__ y, const T* __restrict__ x, float*, long long m, long long n) {
  if constexpr (TURNS == 1) {
    softmax_rows<T, THREADS, 1, VEC, REGISTERS, SHARED, UNROLL, BLOCKS, ONLINE>(y, x, m, n);
  } else if (n == static_cast<long long>(REGISTERS) * THREADS * BLOCKS * VEC) {
    softmax_turns<T, THREADS, VEC, REGISTERS, SHARED, BLOCKS, ONLINE, TURNS, true>(y, x, m, n);
  } else {
    softmax_turns<T, THREADS, VEC, REGISTERS, SHARED, BLOCKS, ONLINE, TURNS, false>(y, x, m, n);
  }
}
#endif

// Each of BLOCKS blocks per row: the maximum and the sum of its part.
template <typename T, int THREADS, int VEC, int REGISTERS, int UNROLL, int BLOCKS, int RESIDENT>
__global__ void __launch_bounds__(THREADS, RESIDENT / THREADS)
    softmax_partial(T*, const T* __restrict__ x, float* partial, long long, long long n) {
  __shared__ exp_sum warp_partial[(THREADS + 31) / 32];
  using Slice = row_slice<T, VEC, THREADS * BLOCKS, REGISTERS, 0, UNROLL, THREADS>;
  const long long row = blockIdx.x / BLOCKS;
  Slice slice(x + row * n, n / VEC, blockIdx.x % BLOCKS * THREADS + threadIdx.x, nullptr);
  slice.hold();
  const exp_sum total = group_reduce<THREADS>(row_part<T, VEC, Slice>(slice).online_sum(), join{}, warp_partial);
  if (threadIdx.x == 0) reinterpret_cast<exp_sum*>(partial)[blockIdx.x] = total;
}

// Then each of them: the quotients of its part. Blocks go through the rows backwards: what was read last is still in L2.
template <typename T, int THREADS, int VEC, int REGISTERS, int UNROLL, int BLOCKS, int RESIDENT>
__global__ void __launch_bounds__(THREADS, RESIDENT / THREADS)
    softmax_apply(T* __restrict__ y, const T* __restrict__ x, float* partial, long long, long long n) {
  using Slice = row_slice<T, VEC, THREADS * BLOCKS, REGISTERS, 0, UNROLL, THREADS>;
  const unsigned block = gridDim.x - 1 - blockIdx.x;
  const long long row = block / BLOCKS;
  const int thread = block % BLOCKS * THREADS + threadIdx.x;
  Slice slice(x + row * n, n / VEC, thread, nullptr);
  slice.hold();
  const exp_sum* parts = reinterpret_cast<const exp_sum*>(partial) + row * BLOCKS;
  const exp_sum total = warp_reduce<BLOCKS>(parts[threadIdx.x % BLOCKS], join{});
  row_part<T, VEC, Slice>(slice).template write_quotients<true>(y + row * n + thread * VEC, total);
}
