// Products of a large matrix with at most 16 lines: rows of A where C has few rows, columns of B where it has few columns. Each element of the
// large matrix is needed a few times only, so it goes from memory to registers and never through shared memory; what limits is how many
// loads are on their way. Hence k is split over the threads of a block (SLICES), whose sums are added in a fixed order at the end.
#pragma once

#include "element.cuh"
#include "pack.cuh"
#include "problem.cuh"
#include "shared_memory.cuh"

// TM lines of the small matrix, BN lines of the large one per block and TN per thread.
template <typename T, bool SMALL_DEPTH_FIRST, int TM, int BN, int TN, int VEC, int UNROLL, int SLICES>
class thin_product {
 public:
  using Sum = accumulator_t<T>;
  static constexpr int kThreads = BN / TN * SLICES;
  static_assert(kThreads % 32 == 0 && kThreads <= 1024, "whole warps");

  // Element (line, depth) of the small matrix is at line * line_stride + depth * depth_stride, likewise of the large one.
  __device__ __forceinline__ thin_product(const T* small, long long line_stride, long long depth_stride, long long lines)
      : depth_stride_(depth_stride) {
    // A line that does not exist is read from the first: nobody looks at its sums, and the loop needs no test.
#pragma unroll
    for (int i = 0; i < TM; ++i) small_[i] = small + (i < lines ? i : 0) * line_stride;
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; ++j) sum_[i][j] = 0;
    }
  }

  // Lines of the large matrix are neighbours in memory: a thread keeps TN = VEC of them, and takes UNROLL depths at a time.
  __device__ __forceinline__ void columns(const T* large, long long depth_stride, long long first_line, long long lines, long long k) {
    static_assert(TN == VEC, "a thread's lines are one pack");
    constexpr int kSmallWidth = SMALL_DEPTH_FIRST && UNROLL % VEC == 0 ? VEC : 1;
    const int lane = threadIdx.x % kLanes;
    const int slice = threadIdx.x / kLanes;
    const bool exists = first_line + lane * VEC < lines;
    const T* next = large + first_line + lane * VEC + slice * UNROLL * depth_stride;
#pragma unroll 1
    for (long long depth = slice * UNROLL; depth < k; depth += SLICES * UNROLL) {
      pack<T, VEC> from_large[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        from_large[u] = exists && depth + u < k ? load_pack<VEC>(next + u * depth_stride) : pack<T, VEC>{};
      }
      next += SLICES * UNROLL * depth_stride;
#pragma unroll
      for (int u = 0; u < UNROLL; u += kSmallWidth) {
        if (depth + u < k) {
#pragma unroll
          for (int i = 0; i < TM; ++i) {
            const auto from_small = load_pack<kSmallWidth>(small_[i] + (depth + u) * (SMALL_DEPTH_FIRST ? 1 : depth_stride_));
#pragma unroll
            for (int w = 0; w < kSmallWidth; ++w) {
              const Sum s = widen(from_small.element[w]);
#pragma unroll
              for (int v = 0; v < VEC; ++v) sum_[i][v] += s * widen(from_large[u + w].element[v]);
            }
          }
        }
      }
    }
    // The slices of a warp, then the warps.
    constexpr int kFirst = kLanes < 32 ? kLanes : 32;
    add_lanes<kFirst, 32>();
    const int part = kLanes < 32 ? threadIdx.x / 32 : slice;
    if (kLanes >= 32 || threadIdx.x % 32 < kLanes) put(part, lane * TN);
  }

  // Depths of the large matrix are neighbours: a thread takes packs along k of each of its TN lines.
  __device__ __forceinline__ void dots(const T* large, long long line_stride, long long first_line, long long lines, long long k) {
    const int slice = threadIdx.x % SLICES;
    const int group = threadIdx.x / SLICES;
    const T* large_line[TN];
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const long long line = first_line + group * TN + j;
      large_line[j] = large + (line < lines ? line : 0) * line_stride;
    }
#pragma unroll 1
    for (long long depth0 = slice * VEC; depth0 < k; depth0 += SLICES * VEC * UNROLL) {
      pack<T, VEC> from_large[UNROLL][TN];
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const long long depth = depth0 + u * (SLICES * VEC);
#pragma unroll
        for (int j = 0; j < TN; ++j) from_large[u][j] = depth < k ? load_pack<VEC>(large_line[j] + depth) : pack<T, VEC>{};
      }
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const long long depth = depth0 + u * (SLICES * VEC);
        if (depth < k) {
#pragma unroll
          for (int i = 0; i < TM; ++i) {
            pack<T, VEC> from_small;
            if constexpr (SMALL_DEPTH_FIRST) {
              from_small = load_pack<VEC>(small_[i] + depth);
            } else {
#pragma unroll
              for (int v = 0; v < VEC; ++v) from_small.element[v] = small_[i][(depth + v) * depth_stride_];
            }
#pragma unroll
            for (int v = 0; v < VEC; ++v) {
              const Sum s = widen(from_small.element[v]);
#pragma unroll
              for (int j = 0; j < TN; ++j) sum_[i][j] += s * widen(from_large[u][j].element[v]);
            }
          }
        }
      }
    }
    constexpr int kWithin = SLICES < 32 ? SLICES : 32;
    add_lanes<1, kWithin>();
    if (threadIdx.x % kWithin == 0) put(slice / 32, group * TN);
  }

  // All results of the block, each the sum of its parts in their order.
  template <bool DEPTH_FIRST, typename Write>
  __device__ __forceinline__ void finish_all(Write write) const {
    constexpr int kParts = DEPTH_FIRST ? (SLICES < 32 ? 1 : SLICES / 32) : (kLanes < 32 ? kThreads / 32 : SLICES);
    __syncthreads();
    for (int at = threadIdx.x; at < TM * BN; at += kThreads) {
      Sum sum = 0;
#pragma unroll 8
      for (int part = 0; part < kParts; ++part) sum += sums()[part * (TM * BN) + at];
      write(at / BN, at % BN, sum);
    }
  }

 private:
  static constexpr int kLanes = BN / TN;

  __device__ __forceinline__ static Sum* sums() { return shared_memory<Sum>(); }

  template <int FIRST, int END>
  __device__ __forceinline__ void add_lanes() {
#pragma unroll
    for (int distance = FIRST; distance < END; distance *= 2) {
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) sum_[i][j] += __shfl_xor_sync(0xffffffffu, sum_[i][j], distance);
      }
    }
  }
  __device__ __forceinline__ void put(int part, int line) const {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; ++j) sums()[(part * TM + i) * BN + line + j] = sum_[i][j];
    }
  }

  const T* small_[TM];
  long long depth_stride_;
  Sum sum_[TM][TN];
};

// C has few rows (FEW_COLUMNS = 0): the small matrix is A, the large one B. Few columns: the other way round.
template <typename T, int FEW_COLUMNS, transposition TA, transposition TB, epilogue EPILOGUE, int TM, int BN, int TN, int VEC, int UNROLL, int SLICES>
__device__ __forceinline__ void thin(MATMUL_ARGUMENTS(T)) {
  constexpr bool kADepthFirst = TA == transposition::n;
  constexpr bool kBDepthFirst = TB == transposition::t;
  constexpr bool kSmallDepthFirst = FEW_COLUMNS ? kBDepthFirst : kADepthFirst;
  constexpr bool kLargeDepthFirst = FEW_COLUMNS ? kADepthFirst : kBDepthFirst;
  using product = thin_product<T, kSmallDepthFirst, TM, BN, TN, VEC, UNROLL, SLICES>;
  const long long few = FEW_COLUMNS ? n : m;
  const long long many = FEW_COLUMNS ? m : n;
  const T* const small = FEW_COLUMNS ? b : a;
  const T* const large = FEW_COLUMNS ? a : b;
  const long long small_stride = FEW_COLUMNS ? stride_of_b<TB>(n, k) : stride_of_a<TA>(m, k);
  const long long large_stride = FEW_COLUMNS ? stride_of_a<TA>(m, k) : stride_of_b<TB>(n, k);
  const long long blocks = (many + BN - 1) / BN;
  const long long first_small = blockIdx.x / blocks * TM;
  const long long first_large = blockIdx.x % blocks * BN;

  product mine(small + first_small * (kSmallDepthFirst ? small_stride : 1), kSmallDepthFirst ? small_stride : 1, kSmallDepthFirst ? 1 : small_stride,
               few - first_small);
  if constexpr (kLargeDepthFirst) {
    mine.dots(large, large_stride, first_large, many, k);
  } else {
    mine.columns(large, large_stride, first_large, many, k);
  }
  mine.template finish_all<kLargeDepthFirst>([&](int i, int j, accumulator_t<T> sum) {
    if (first_small + i >= few || first_large + j >= many) return;
    const long long at = FEW_COLUMNS ? (first_large + j) * n + first_small + i : (first_small + i) * n + first_large + j;
    finish<EPILOGUE>(sum, alpha, beta, c_in + at, c[at]);
  });
}

template <typename T, transposition TA, transposition TB, epilogue EPILOGUE, int TM, int BN, int TN, int VEC, int UNROLL, int SLICES, int BLOCKS>
__global__ void __launch_bounds__(BN / TN* SLICES, BLOCKS) matmul_few_rows(MATMUL_ARGUMENTS(T)) {
  thin<T, 0, TA, TB, EPILOGUE, TM, BN, TN, VEC, UNROLL, SLICES>(c, a, b, m, n, k, alpha, beta, c_in, ta, tb, workspace, tickets);
}

template <typename T, transposition TA, transposition TB, epilogue EPILOGUE, int TM, int BN, int TN, int VEC, int UNROLL, int SLICES, int BLOCKS>
__global__ void __launch_bounds__(BN / TN* SLICES, BLOCKS) matmul_few_columns(MATMUL_ARGUMENTS(T)) {
  thin<T, 1, TA, TB, EPILOGUE, TM, BN, TN, VEC, UNROLL, SLICES>(c, a, b, m, n, k, alpha, beta, c_in, ta, tb, workspace, tickets);
}
