// Tiles of A and B staged in shared memory: from one result per thread to a block of them, padded or not, A kept by rows or by columns, with
// wide loads, and with the next tile on its way through registers while one is multiplied.
#pragma once

#include "element.cuh"
#include "pack.cuh"
#include "problem.cuh"
#include "shared_memory.cuh"

// The widest read from shared memory: 16 bytes, unless a thread has fewer neighbours or the padding breaks the alignment.
__device__ constexpr int read_width(int per_thread, int pad, int element_bytes) {
  int width = 16 / element_bytes;
  while (per_thread % width != 0 || pad % width != 0) width /= 2;
  return width;
}

template <typename T, transposition TA, transposition TB, epilogue EPILOGUE, int BM, int BN, int BK, int TM, int TN, int PAD, int VEC, int UNROLL,
          int STAGES, int A_COLUMN_MAJOR>
__global__ void __launch_bounds__((BM / TM) * (BN / TN)) matmul_tiled(MATMUL_ARGUMENTS(T)) {
  using Sum = accumulator_t<T>;  // f16: each element is converted once per block, on its way to shared memory
  constexpr int kThreadsN = BN / TN;
  constexpr int kThreads = kThreadsN * (BM / TM);
  constexpr bool kTurnedA = TA == transposition::t;
  constexpr bool kTurnedB = TB == transposition::t;
  static_assert(BM % TM == 0 && BN % TN == 0, "the thread tile divides the block tile");
  static_assert(kThreads <= 1024, "at most 1024 threads per block");
  static_assert(BK % UNROLL == 0, "UNROLL divides BK");
  constexpr int kAPacks = BM * BK / (kThreads * VEC);  // packs that one thread moves per tile
  constexpr int kBPacks = BK * BN / (kThreads * VEC);
  static_assert(kAPacks * kThreads * VEC == BM * BK, "the threads share a tile of A evenly");
  static_assert(kBPacks * kThreads * VEC == BK * BN, "the threads share a tile of B evenly");
  static_assert(BK % VEC == 0 && BN % VEC == 0 && BM % VEC == 0, "packs do not straddle rows");
  static_assert(PAD % VEC == 0, "packs stay aligned in padded rows");
  static_assert(STAGES == 1 || STAGES == 2, "one or two tiles in flight");

  constexpr int kAPitch = (A_COLUMN_MAJOR ? BM : BK) + PAD;
  constexpr int kBPitch = BN + PAD;
  constexpr int kASize = (A_COLUMN_MAJOR ? BK : BM) * kAPitch;
  constexpr int kBSize = BK * kBPitch;
  constexpr int kReadM = A_COLUMN_MAJOR ? read_width(TM, PAD, sizeof(Sum)) : 1;
  constexpr int kReadN = read_width(TN, PAD, sizeof(Sum));

  Sum* const a_tiles = shared_memory<Sum>();
  Sum* const b_tiles = a_tiles + STAGES * kASize;

  const int thread_n = threadIdx.x % kThreadsN;
  const int thread_m = threadIdx.x / kThreadsN;
  const unsigned tiles_n = static_cast<unsigned>((n + BN - 1) / BN);
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long column0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;
  const long long a_stride = stride_of_a<TA>(m, k);
  const long long b_stride = stride_of_b<TB>(n, k);

  // What is left of C below and to the right of this tile's corner, in int: the loop compares with it.
  const int rows_left = static_cast<int>(m - row0 < BM ? m - row0 : BM);
  const int columns_left = static_cast<int>(n - column0 < BN ? n - column0 : BN);
  const T* a_tile = kTurnedA ? a + row0 : a + row0 * k;
  const T* b_tile = kTurnedB ? b + column0 * k : b + column0;

  // The pack that the thread moves in its i-th turn: packs go along the rows in memory.
  struct place {
    int position, depth;
  };
  auto a_place = [](int i) -> place {
    const int index = threadIdx.x + i * kThreads;
    if constexpr (kTurnedA) {
      return {index % (BM / VEC) * VEC, index / (BM / VEC)};
    } else {
      return {index / (BK / VEC), index % (BK / VEC) * VEC};
    }
  };
  auto b_place = [](int i) -> place {
    const int index = threadIdx.x + i * kThreads;
    if constexpr (kTurnedB) {
      return {index / (BK / VEC), index % (BK / VEC) * VEC};
    } else {
      return {index % (BN / VEC) * VEC, index / (BN / VEC)};
    }
  };

  pack<T, VEC> a_staged[kAPacks];
  pack<T, VEC> b_staged[kBPacks];

  // Global memory to registers; zero outside the matrices, so that what is multiplied there adds nothing.
  auto load = [&](int depth_left) {
#pragma unroll
    for (int i = 0; i < kAPacks; ++i) {
      const auto [row, depth] = a_place(i);
      a_staged[i] = pack<T, VEC>{};
      if (row < rows_left && depth < depth_left) {
        a_staged[i] = load_pack<VEC>(kTurnedA ? a_tile + depth * a_stride + row : a_tile + row * a_stride + depth);
      }
    }
#pragma unroll
    for (int i = 0; i < kBPacks; ++i) {
      const auto [column, depth] = b_place(i);
      b_staged[i] = pack<T, VEC>{};
      if (depth < depth_left && column < columns_left) {
        b_staged[i] = load_pack<VEC>(kTurnedB ? b_tile + column * b_stride + depth : b_tile + depth * b_stride + column);
      }
    }
  };
  auto advance = [&] {
    a_tile += kTurnedA ? BK * a_stride : BK;
    b_tile += kTurnedB ? BK : BK * b_stride;
  };

  // Registers to shared memory: as one pack where it stays a row there, else element by element.
  auto store = [&](Sum* a_shared, Sum* b_shared) {
#pragma unroll
    for (int i = 0; i < kAPacks; ++i) {
      const auto [row, depth] = a_place(i);
      pack<Sum, VEC> wide;
#pragma unroll
      for (int v = 0; v < VEC; ++v) wide.element[v] = widen(a_staged[i].element[v]);
      if constexpr (kTurnedA == (A_COLUMN_MAJOR == 1)) {
        store_pack(a_shared + (A_COLUMN_MAJOR ? depth * kAPitch + row : row * kAPitch + depth), wide);
      } else {
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          a_shared[A_COLUMN_MAJOR ? (depth + v) * kAPitch + row : (row + v) * kAPitch + depth] = wide.element[v];
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kBPacks; ++i) {
      const auto [column, depth] = b_place(i);
      pack<Sum, VEC> wide;
#pragma unroll
      for (int v = 0; v < VEC; ++v) wide.element[v] = widen(b_staged[i].element[v]);
      if constexpr (kTurnedB) {
#pragma unroll
        for (int v = 0; v < VEC; ++v) b_shared[(depth + v) * kBPitch + column] = wide.element[v];
      } else {
        store_pack(b_shared + depth * kBPitch + column, wide);
      }
    }
  };

  // A thread's rows (columns) are groups of kReadM (kReadN) neighbours, the groups as far apart as all threads together cover:
  // neighbouring threads then read neighbouring packs.
  Sum sum[TM][TN] = {};
  auto multiply = [&](const Sum* a_shared, const Sum* b_shared) {
#pragma unroll 1
    for (int depth0 = 0; depth0 < BK; depth0 += UNROLL) {
#pragma unroll
      for (int u = 0; u < UNROLL; ++u) {
        const int depth = depth0 + u;
        Sum a_part[TM];
        Sum b_part[TN];
#pragma unroll
        for (int i = 0; i < TM; i += kReadM) {
          const int row = i * (BM / TM) + thread_m * kReadM;
          const auto read = load_pack<kReadM>(a_shared + (A_COLUMN_MAJOR ? depth * kAPitch + row : row * kAPitch + depth));
#pragma unroll
          for (int v = 0; v < kReadM; ++v) a_part[i + v] = read.element[v];
        }
#pragma unroll
        for (int j = 0; j < TN; j += kReadN) {
          const auto read = load_pack<kReadN>(b_shared + depth * kBPitch + j * kThreadsN + thread_n * kReadN);
#pragma unroll
          for (int v = 0; v < kReadN; ++v) b_part[j + v] = read.element[v];
        }
#pragma unroll
        for (int i = 0; i < TM; ++i) {
#pragma unroll
          for (int j = 0; j < TN; ++j) sum[i][j] += a_part[i] * b_part[j];
        }
      }
    }
  };

  if constexpr (STAGES == 1) {
#pragma unroll 1
    for (long long depth = 0; depth < k; depth += BK) {
      load(static_cast<int>(k - depth < BK ? k - depth : BK));
      advance();
      if (depth > 0) __syncthreads();  // everyone is done with the last tile
      store(a_tiles, b_tiles);
      __syncthreads();
      multiply(a_tiles, b_tiles);
    }
  } else {
    load(static_cast<int>(k < BK ? k : BK));
    store(a_tiles, b_tiles);
    __syncthreads();
    int stage = 0;
#pragma unroll 1
    for (long long depth = 0; depth < k; depth += BK) {
      advance();
      const long long depth_left = k - depth - BK;  // at most 0 after the last tile: load() then reads nothing
      load(static_cast<int>(depth_left < BK ? depth_left : BK));  // on its way while the other tile is multiplied
      multiply(a_tiles + stage * kASize, b_tiles + stage * kBSize);
      stage ^= 1;
      store(a_tiles + stage * kASize, b_tiles + stage * kBSize);
      __syncthreads();
    }
  }

  constexpr int kWrite = VEC < kReadN ? VEC : kReadN;
  T* const c_tile = c + row0 * n + column0;
  const T* const c_in_tile = c_in + row0 * n + column0;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int row = i / kReadM * kReadM * (BM / TM) + thread_m * kReadM + i % kReadM;
#pragma unroll
    for (int j = 0; j < TN; j += kWrite) {
      const int column = j / kReadN * kReadN * kThreadsN + thread_n * kReadN + j % kReadN;
      if (row < rows_left && column < columns_left) {
        pack<T, kWrite> written;
#pragma unroll
        for (int w = 0; w < kWrite; ++w) {
          finish<EPILOGUE>(sum[i][j + w], alpha, beta, c_in_tile + row * n + column + w, written.element[w]);
        }
        store_pack(c_tile + row * n + column, written);
      }
    }
  }
}
