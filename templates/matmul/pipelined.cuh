// STAGES tiles in flight, warp tiles, k split inside the block (SLICES) and over blocks (SPLIT): what the fastest points are made of.
#pragma once

#include "cluster.cuh"
#include "operand.cuh"
#include "pad_copy.cuh"
#include "problem.cuh"
#include "shared_memory.cuh"
#include "split_k.cuh"
#include "thread_tile.cuh"
#ifndef TUNEBOOK_CPU
#include "tensor_core.cuh"
#endif

// The cpu device multiplies and adds, which math = tensor allows.
#ifdef TUNEBOOK_CPU
constexpr bool kTensorCores = false;
#else
constexpr bool kTensorCores = true;
#endif

// SUMS: who adds the parts of a tile.
constexpr int kByLaunch = 0;   // matmul_sum_parts
constexpr int kByLast = 1;     // the block that comes last
constexpr int kByCluster = 2;  // all of the cluster that the tile's blocks make, through each other's shared memory

// Scratch memory for parts of tiles, behind the padded copies.
template <typename T, transposition TA, transposition TB, int PAD_COPY>
__device__ __forceinline__ accumulator_t<T>* parts_of(double* workspace, long long m, long long n, long long k) {
  return reinterpret_cast<accumulator_t<T>*>(PAD_COPY ? behind_padded<T, TA, TB>(workspace, m, n, k) : workspace);
}

template <typename T, transposition TA, transposition TB, int BM, int BN, int BK, int TM, int TN, int WM, int WN, int PAD, int VEC, int UNROLL,
          int STAGES, int FRAGMENTS, int FMA_ORDER, int SLICES>
struct pipelined {
  using Sum = accumulator_t<T>;
  // Tiles that are turned on their way are padded: see operand.cuh.
  static constexpr int kPitchA = BM + (TA == transposition::n ? PAD : 0);
  static constexpr int kPitchB = BN + (TB == transposition::t ? PAD : 0);
  using tile_t = thread_tile<T, BM, BN, TM, TN, WM, WN, kPitchA, kPitchB, SLICES>;
  static constexpr int kThreads = tile_t::kThreads * SLICES;
  static constexpr int kSizeA = BK * kPitchA;
  static constexpr int kSizeB = BK * kPitchB;
  static constexpr int kStage = kSizeA + kSizeB;  // a tile of A, then one of B
  static constexpr int kDepths = BK / SLICES;  // of a tile, that one slice multiplies
  static_assert(BK % SLICES == 0 && kDepths % UNROLL == 0, "UNROLL divides what a slice multiplies of a tile");
  static_assert(STAGES >= 2, "one tile is multiplied while others arrive");
  static_assert(FRAGMENTS == 1 || UNROLL % 2 == 0, "two fragments take turns");

  using loader_a = operand_loader<T, TA == transposition::n, BM, BK, kPitchA, VEC, kThreads, STAGES - 1>;
  using loader_b = operand_loader<T, TB == transposition::t, BN, BK, kPitchB, VEC, kThreads, STAGES - 1>;

  // Adds `steps` steps, BK deep each, to the thread's sums; of step number `ragged`, the last of all, only `tail` depths exist, and `full`
  // says that all of the tile's rows and columns do. Shared memory is free before and after. Counted in 32 bits: k is below 2^35, from where on
  // A and B take 128 GiB or more.
  static __device__ __forceinline__ void multiply(tile_t& mine, int slice, loader_a& from_a, loader_b& from_b, Sum* shared, bool full,
                                                  unsigned steps, unsigned ragged, int tail) {
    const unsigned whole = full ? min(steps, ragged) : 0;
    auto start = [&](unsigned step, int at, int tile) {
      if (__builtin_expect(step < whole, 1)) {
        from_a.start(at, tile);
        from_b.start(at, tile);
      } else if (step < steps) {
        const int depths = step == ragged ? tail : BK;
        from_a.start_ragged(at, depths, tile);
        from_b.start_ragged(at, depths, tile);
      }
      from_a.advance();
      from_b.advance();
      commit_copies();
    };
    auto finish = [&](unsigned step, int at, int tile) {
      if (step < steps) {
        from_a.finish(at, tile);
        from_b.finish(at, tile);
      }
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) start(s, s * kStage, s);
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) finish(s, s * kStage, s);
    wait_for_copies<STAGES - 2>();
    __syncthreads();

    const int first = slice * kDepths;
    const shared_pointer<Sum> a_first(shared + first * kPitchA + mine.row(0));
    const shared_pointer<Sum> b_first(shared + kSizeA + first * kPitchB + mine.column(0));
    int stage = 0;                       // where the tile is that is multiplied
    int filled = (STAGES - 1) * kStage;  // where the tile goes that is brought next
    shared_pointer<Sum> a_read = a_first;
    shared_pointer<Sum> b_read = b_first;
    typename tile_t::fragment fragment[FRAGMENTS == 1 ? 1 : 2];
    if constexpr (FRAGMENTS != 1) {
      if (steps > 0) mine.read(fragment[0], a_read, b_read);
    }

    const unsigned end = steps + (STAGES - 1);
#pragma unroll 1
    for (unsigned next = STAGES - 1; next < end; ++next) {
      start(next, filled, 0);

      // All that the tile's last multiply-adds need is in registers, or they are done: the tile may be overwritten.
      auto turn = [&] {
        finish(next, filled, 0);
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        filled = stage;
        stage = stage == (STAGES - 1) * kStage ? 0 : stage + kStage;
        a_read = a_first + stage;
        b_read = b_first + stage;
      };

#pragma unroll 1
      for (int depth0 = 0; depth0 < kDepths; depth0 += UNROLL) {
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
          if constexpr (FRAGMENTS == 1) {
            mine.read(fragment[0], a_read + u * kPitchA, b_read + u * kPitchB);
            mine.template multiply_add<FMA_ORDER>(fragment[0]);
          } else {
            // The next step's fragment is on its way while this one's is multiplied, across tiles too. The compiler may put its reads off
            // until it is needed, but not beyond a barrier.
            if (u + 1 < UNROLL) {
              mine.read(fragment[(u + 1) % 2], a_read + (u + 1) * kPitchA, b_read + (u + 1) * kPitchB);
            } else if (UNROLL < kDepths && depth0 + UNROLL < kDepths) {
              mine.read(fragment[0], a_read + UNROLL * kPitchA, b_read + UNROLL * kPitchB);
            } else {
              turn();
              if (next + 1 < end) mine.read(fragment[0], a_read, b_read);
            }
            if constexpr (FRAGMENTS == 3) __syncwarp();
            mine.template multiply_add<FMA_ORDER>(fragment[u % 2]);
          }
        }
        if (UNROLL < kDepths && (FRAGMENTS == 1 || depth0 + UNROLL < kDepths)) {
          a_read = a_read + UNROLL * kPitchA;
          b_read = b_read + UNROLL * kPitchB;
        }
      }
      if constexpr (FRAGMENTS == 1) turn();
    }
  }

  // Sums of the block's slices, in the first slice's registers: halves add to halves, so that few barriers are needed.
  static __device__ __forceinline__ void sum_slices(tile_t& mine, int slice, int thread, Sum* shared) {
#pragma unroll
    for (int half = SLICES / 2; half >= 1; half /= 2) {
      if (slice >= half && slice < 2 * half) mine.put(shared + (slice - half) * (BM * BN), thread);
      __syncthreads();
      if (slice < half) mine.add(shared + slice * (BM * BN), thread);
      __syncthreads();
    }
  }
};

// The product of a block: A and B with their strides in memory.
template <typename T, arithmetic MATH, transposition TA, transposition TB, epilogue EPILOGUE, int BM, int BN, int BK, int TM, int TN,
          int WM, int WN, int PAD, int VEC, int UNROLL, int STAGES, int FRAGMENTS, int FMA_ORDER, int GROUP, int SLICES,
          int SPLIT, int SUMS, int PAD_COPY>
__device__ __forceinline__ void pipelined_product(T* __restrict__ c, const T* __restrict__ a, const T* __restrict__ b, long long a_stride,
                                                  long long b_stride, long long m, long long n, long long k, double alpha, double beta,
                                                  const T* __restrict__ c_in, double* workspace, int* tickets) {
  if constexpr (kTensorCores && MATH == tensor && sizeof(T) == 2) {
#ifndef TUNEBOOK_CPU
    tensor_core_matmul<T, BM, BN, BK, WM, WN, STAGES, GROUP, VEC, TA == transposition::t, TB == transposition::t>(
        shared_memory<unsigned char>(), c, c_in, a, b, m, n, k, a_stride, b_stride, n, EPILOGUE == alpha_beta ? static_cast<float>(alpha) : 1.0f,
        EPILOGUE == alpha_beta ? static_cast<float>(beta) : 0.0f);
#endif
  } else {
    using path = pipelined<T, TA, TB, BM, BN, BK, TM, TN, WM, WN, PAD, VEC, UNROLL, STAGES, FRAGMENTS, FMA_ORDER, SLICES>;
    using tile_t = typename path::tile_t;
    using Sum = typename path::Sum;
    constexpr int kWrite = PAD_COPY ? 1 : VEC;
    Sum* const shared = shared_memory<Sum>();

    const long long tiles_m = (m + BM - 1) / BM;
    const long long tiles_n = (n + BN - 1) / BN;
    const long long steps = (k + BK - 1) / BK;
    const int slice = SLICES == 1 ? 0 : threadIdx.x / tile_t::kThreads;
    const int thread = SLICES == 1 ? threadIdx.x : threadIdx.x % tile_t::kThreads;
    tile_t mine(thread);

    // The parts of a tile are blocks far apart, or neighbours, which make a cluster.
    const long long block = SUMS == kByCluster ? blockIdx.x % max(SPLIT, 1) * (tiles_m * tiles_n) + blockIdx.x / max(SPLIT, 1) : blockIdx.x;
    k_split<SPLIT> split(tiles_m * tiles_n, steps, gridDim.x);
    split.start(block);
    stretch work;
#pragma unroll 1
    while (split.next(block, work)) {
      const tile_place place = place_of_tile<GROUP>(work.tile, tiles_m, tiles_n);
      const long long row0 = place.row * BM;
      const long long column0 = place.column * BN;
      mine.clear();
      {
        typename path::loader_a from_a(shared, a, a_stride, row0, m - row0, work.begin * BK);
        typename path::loader_b from_b(shared + path::kSizeA, b, b_stride, column0, n - column0, work.begin * BK);
        path::multiply(mine, slice, from_a, from_b, shared, m - row0 >= BM && n - column0 >= BN, static_cast<unsigned>(work.end - work.begin),
                       static_cast<unsigned>(steps - 1 - work.begin), static_cast<int>(k - (steps - 1) * BK));
      }
      if constexpr (SLICES > 1) path::sum_slices(mine, slice, thread, shared);

      auto write = [&] {
        const int rows = static_cast<int>(m - row0 < BM ? m - row0 : BM);
        const int columns = static_cast<int>(n - column0 < BN ? n - column0 : BN);
        T* const to = c + row0 * n + column0;
        const T* const in = c_in + row0 * n + column0;
        if constexpr (tile_t::kScattered && tile_t::kStaged <= STAGES * path::kStage) {
          mine.template write_staged<kWrite, EPILOGUE>(shared, to, in, n, rows, columns, alpha, beta);
        } else {
          mine.template write<kWrite, EPILOGUE>(to, in, n, rows, columns, alpha, beta);
        }
      };
      if (SPLIT == 1 || (SPLIT == 0 && work.begin == 0 && work.end == steps)) {
        if (slice == 0) write();
      } else if constexpr (SUMS == kByCluster) {
        Sum* const part = shared;
        if (slice == 0) mine.put_packs(part, thread);
        __syncwarp();
        cluster_arrive();
        cluster_wait();
#pragma unroll 1
        for (int q = cluster_rank() + slice * SPLIT; q < tile_t::kPacks; q += SPLIT * SLICES) {
          pack<Sum, tile_t::kReadN> sum = {};
#pragma unroll
          for (int rank = 0; rank < SPLIT; ++rank) {
            const auto addend = load_from_block(tile_t::scratch_pack(part, q, thread), rank);
#pragma unroll
            for (int v = 0; v < tile_t::kReadN; ++v) sum.element[v] += addend.element[v];
          }
          mine.template write_pack<kWrite, EPILOGUE>(q, sum.element, c + row0 * n + column0, c_in + row0 * n + column0, n,
                                                     static_cast<int>(m - row0 < BM ? m - row0 : BM),
                                                     static_cast<int>(n - column0 < BN ? n - column0 : BN), alpha, beta);
        }
        __syncwarp();
        cluster_arrive();  // nobody leaves while others read what it has
        cluster_wait();
      } else if constexpr (SPLIT != 1) {
        Sum* const parts = parts_of<T, TA, TB, PAD_COPY>(workspace, m, n, k);
        if (slice == 0) mine.put(parts + work.slot * (BM * BN), thread);
        if constexpr (SUMS == kByLast) {
          __shared__ int is_last;
          const int count = split.parts(work.tile);
          if (last_of(tickets + work.tile, count, &is_last) && slice == 0) {
            mine.clear();
#pragma unroll 1
            for (int part = 0; part < count; ++part) mine.add(parts + split.slot(work.tile, part) * (BM * BN), thread);
            write();
          }
        }
      }
      if constexpr (SPLIT == 0) __syncthreads();  // the next tile takes the shared memory that this one's results went through
    }
  }
}

// VEC = 0: as wide as the sizes allow, decided here, for a configuration that serves all.
template <typename T, arithmetic MATH, transposition TA, transposition TB, epilogue EPILOGUE, int BM, int BN, int BK, int TM, int TN,
          int WM, int WN, int PAD, int VEC, int UNROLL, int STAGES, int FRAGMENTS, int FMA_ORDER, int GROUP, int SLICES,
          int SPLIT, int SUMS, int PAD_COPY>
__device__ __forceinline__ void pipelined_matmul(MATMUL_ARGUMENTS(T)) {
  long long a_stride = stride_of_a<TA>(m, k);
  long long b_stride = stride_of_b<TB>(n, k);
  if constexpr (PAD_COPY) {
    a = padded_a<T>(workspace);
    b = padded_b<T, TA>(workspace, m, k);
    a_stride = padded(a_stride);
    b_stride = padded(b_stride);
  }
  constexpr int kWidest = VEC != 0 ? VEC : 16 / sizeof(T);
  if (VEC != 0 || (a_stride % kWidest == 0 && b_stride % kWidest == 0 && n % kWidest == 0)) {
    pipelined_product<T, MATH, TA, TB, EPILOGUE, BM, BN, BK, TM, TN, WM, WN, PAD, kWidest, UNROLL, STAGES, FRAGMENTS, FMA_ORDER, GROUP, SLICES,
                      SPLIT, SUMS, PAD_COPY>(c, a, b, a_stride, b_stride, m, n, k, alpha, beta, c_in, workspace, tickets);
  } else if constexpr (VEC == 0) {
    pipelined_product<T, MATH, TA, TB, EPILOGUE, BM, BN, BK, TM, TN, WM, WN, PAD, 1, UNROLL, STAGES, FRAGMENTS, FMA_ORDER, GROUP, SLICES, SPLIT,
                      SUMS, PAD_COPY>(c, a, b, a_stride, b_stride, m, n, k, alpha, beta, c_in, workspace, tickets);
  }
}

template <typename T, arithmetic MATH, transposition TA, transposition TB, epilogue EPILOGUE, int BM, int BN, int BK, int TM, int TN,
          int WM, int WN, int PAD, int VEC, int UNROLL, int STAGES, int FRAGMENTS, int FMA_ORDER, int GROUP, int SLICES,
          int SPLIT, int SUMS, int BLOCKS,
          int PAD_COPY>
__global__ void __launch_bounds__((BM / WM) * (BN / WN) * 32 * SLICES, BLOCKS) matmul_pipelined(MATMUL_ARGUMENTS(T)) {
  pipelined_matmul<T, MATH, TA, TB, EPILOGUE, BM, BN, BK, TM, TN, WM, WN, PAD, VEC, UNROLL, STAGES, FRAGMENTS, FMA_ORDER, GROUP, SLICES, SPLIT,
                   SUMS, PAD_COPY>(c, a, b, m, n, k, alpha, beta, c_in, ta, tb, workspace, tickets);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// The same where the blocks of a tile are a cluster (sm_90 and newer).
template <typename T, arithmetic MATH, transposition TA, transposition TB, epilogue EPILOGUE, int BM, int BN, int BK, int TM, int TN,
          int WM, int WN, int PAD, int VEC, int UNROLL, int STAGES, int FRAGMENTS, int FMA_ORDER, int GROUP, int SLICES,
          int SPLIT, int SUMS, int BLOCKS,
          int PAD_COPY>
__global__ void __launch_bounds__((BM / WM) * (BN / WN) * 32 * SLICES, BLOCKS) __cluster_dims__(SPLIT)
    matmul_pipelined_clusters(MATMUL_ARGUMENTS(T)) {
  static_assert(SUMS == kByCluster && SPLIT > 1, "a cluster is the blocks of a tile");
  pipelined_matmul<T, MATH, TA, TB, EPILOGUE, BM, BN, BK, TM, TN, WM, WN, PAD, VEC, UNROLL, STAGES, FRAGMENTS, FMA_ORDER, GROUP, SLICES, SPLIT,
                   SUMS, PAD_COPY>(c, a, b, m, n, k, alpha, beta, c_in, ta, tb, workspace, tickets);
}
#endif

// Sums the parts of each tile, where the blocks that computed them did not: a pack of results per thread, with more blocks than the tiles
// have, and so faster for many parts.
// With SPLIT = 0 kSumBlocks times as many as computed them, as kernel.json says: few would wait for one pack of parts after the other.
constexpr int kSumBlocks = 16;
template <typename T, transposition TA, transposition TB, epilogue EPILOGUE, int BM, int BN, int BK, int TM, int TN, int WM, int WN, int PAD,
          int VEC, int GROUP, int SLICES, int SPLIT, int PAD_COPY>
__global__ void __launch_bounds__((BM / WM) * (BN / WN) * 32) matmul_sum_parts(MATMUL_ARGUMENTS(T)) {
  using tile_t = typename pipelined<T, TA, TB, BM, BN, BK, TM, TN, WM, WN, PAD, VEC, 1, 2, 1, 0, SLICES>::tile_t;
  using Sum = accumulator_t<T>;
  constexpr int kWrite = PAD_COPY ? 1 : VEC;
  const long long tiles_m = (m + BM - 1) / BM;
  const long long tiles_n = (n + BN - 1) / BN;
  const k_split<SPLIT> split(tiles_m * tiles_n, (k + BK - 1) / BK, gridDim.x / kSumBlocks);
  // Of many parts a thread sums single results, so that there are threads enough and all parts are on their way at once.
  constexpr int kCount = SPLIT >= 16 && tile_t::kScattered ? 1 : tile_t::kReadN;
  constexpr int kItems = TM * TN / kCount;
  constexpr int kAtOnce = SPLIT == 0 ? 8 : SPLIT * kCount <= 64 ? SPLIT : 64 / kCount;
  const tile_t mine(threadIdx.x);
  Sum* const parts = parts_of<T, TA, TB, PAD_COPY>(workspace, m, n, k);
#pragma unroll 1
  for (long long i = blockIdx.x; i < split.tiles_in_parts() * kItems; i += gridDim.x) {
    const long long tile = i / kItems;
    const int q = static_cast<int>(i % kItems);
    const int count = split.parts(tile);
    if (count == 1) continue;  // it was computed, and written, whole
    pack<Sum, kCount> sum = {};
#pragma unroll kAtOnce
    for (int part = 0; part < count; ++part) {
      const auto addend = tile_t::template scratch<kCount>(parts + split.slot(tile, part) * (BM * BN), q, threadIdx.x);
#pragma unroll
      for (int v = 0; v < kCount; ++v) sum.element[v] += addend.element[v];
    }
    const tile_place place = place_of_tile<GROUP>(tile, tiles_m, tiles_n);
    const long long row0 = place.row * BM;
    const long long column0 = place.column * BN;
    mine.template write_pack<kWrite, EPILOGUE, kCount>(q, sum.element, c + row0 * n + column0, c_in + row0 * n + column0, n,
                                               static_cast<int>(m - row0 < BM ? m - row0 : BM), static_cast<int>(n - column0 < BN ? n - column0 : BN),
                                               alpha, beta);
  }
}
