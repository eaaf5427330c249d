// C = alpha * A * B + beta * C_in on tensor cores: f16 or bf16 elements, f32 sums. Every m, n, k >= 1 is right.
//
// Tiles of A and B come to shared memory by asynchronous copies, STAGES of them in a ring: one is multiplied while the others are on
// their way. Each warp multiplies a WM x WN part of the block's BM x BN tile of C, 16 steps in k at a time, and reads what the next 16 need
// before it multiplies.
#pragma once

#ifndef TUNEBOOK_CPU

#include "async_copy.cuh"
#include "element.cuh"
#include "mma.cuh"
#include "pack.cuh"
#include "tensor_core_rows.cuh"

// A block's tile of A or B: OUTER rows of A (columns of B) by DEPTH steps in k, kept in shared memory as it lies in global memory: steps
// in k are neighbours (DEPTH_CONTIGUOUS) or the rows of A (columns of B) are.
//
// A row of the stored tile is divided into chunks of 16 bytes, and which chunk is where depends on the row: XOR with the row's number
// gives the same chunk of eight rows in a row eight different places in the 128 bytes that all banks give at once, so that ldmatrix
// meets no bank conflict. Rows of 64 bytes lie two to those 128 bytes, hence row / 2.
template <typename T, int OUTER, int DEPTH, bool DEPTH_CONTIGUOUS, int VEC, int THREADS>
class operand_tile {
  static constexpr int kRows = DEPTH_CONTIGUOUS ? OUTER : DEPTH;
  static constexpr int kColumns = DEPTH_CONTIGUOUS ? DEPTH : OUTER;
  static constexpr int kRowBytes = kColumns * static_cast<int>(sizeof(T));
  static constexpr int kPackBytes = VEC * static_cast<int>(sizeof(T));
  static constexpr int kPacksPerRow = kColumns / VEC;
  static constexpr int kPassesPerRow = kPacksPerRow > THREADS ? kPacksPerRow / THREADS : 1;
  static constexpr int kRowStep = kPacksPerRow > THREADS ? 1 : THREADS / kPacksPerRow;  // rows that the threads cover at once
  static constexpr int kCopies = kRows * kColumns / (VEC * THREADS);
  static_assert(kCopies * VEC * THREADS == kRows * kColumns, "the threads share a tile evenly");
  static_assert(kPackBytes <= 16, "a pack is one copy");
  static_assert(kRowBytes >= 64 && (kRowBytes & (kRowBytes - 1)) == 0, "a row is 64, 128, ... bytes");
  static_assert(THREADS >= 64 && (THREADS & (THREADS - 1)) == 0, "64, 128, ... threads");

  static __device__ constexpr int swizzle(int row) { return kRowBytes == 64 ? row / 2 % 4 : row % 8; }

  // The i-th copy of a thread: how far it is from the first, and where it goes.
  static __device__ constexpr int row_offset(int i) { return i / kPassesPerRow * kRowStep; }
  static __device__ constexpr int column_offset(int i) { return i % kPassesPerRow * THREADS * VEC; }
  __device__ int destination(int i) const {
    // row_ < kRowStep, and kRowStep is a power of 2: the swizzle of row_ + row_offset is the XOR of theirs.
    return (copy_offset_ ^ (swizzle(row_offset(i)) * 16)) + row_offset(i) * kRowBytes + column_offset(i) * static_cast<int>(sizeof(T));
  }

  // Calls f(i, where the i-th copy reads, whether that is inside the matrix) for the part-th of `parts` shares of the copies.
  template <typename F>
  __device__ __forceinline__ void each(int depth_left, int part, int parts, F f) const {
    const int rows_left = (DEPTH_CONTIGUOUS ? outer_left_ : depth_left) - row_;
    const int columns_left = (DEPTH_CONTIGUOUS ? depth_left : outer_left_) - column_;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      if (i * parts / kCopies != part) continue;
      const bool valid = row_offset(i) < rows_left && column_offset(i) < columns_left;
      f(i, source_ + row_offset(i) * pitch_ + column_offset(i), valid);
    }
  }

  const T* source_;   // this thread's first pack of the tile that is copied next
  long long pitch_;   // elements between rows in global memory
  int row_;           // that pack's place in the tile
  int column_;
  int outer_left_;    // how much of OUTER lies inside the matrix
  int copy_offset_;   // where that pack goes, in bytes from the tile's begin
  int block_offset_;  // where this lane's row of the first block lies
  T fetched_[kPackBytes < 4 ? kCopies : 1];

 public:
  static constexpr int kBytes = kRows * kRowBytes;
  static constexpr bool kNarrow = kPackBytes < 4;

  // `corner` is the tile's first element; the warp reads blocks from `outer` on.
  __device__ operand_tile(const T* corner, long long pitch, int outer_left, int outer) : pitch_(pitch), outer_left_(outer_left) {
    row_ = threadIdx.x / kPacksPerRow;
    column_ = threadIdx.x % kPacksPerRow * VEC;
    source_ = corner + row_ * pitch + column_;
    copy_offset_ = row_ * kRowBytes + ((column_ / 8) ^ swizzle(row_)) * 16 + column_ % 8 * static_cast<int>(sizeof(T));
    const int lane_row = threadIdx.x % 16;
    const int lane_chunk = threadIdx.x % 32 / 16;
    block_offset_ = DEPTH_CONTIGUOUS ? (outer + lane_row) * kRowBytes + (lane_chunk ^ swizzle(lane_row)) * 16
                                     : lane_row * kRowBytes + ((outer / 8 + lane_chunk) ^ swizzle(lane_row)) * 16;
  }

  // Starts the part-th of `parts` shares of the copies of a tile of which `depth_left` steps in k lie inside the matrix (0 or less:
  // none do); zeros elsewhere, so that what is multiplied there adds nothing.
  __device__ __forceinline__ void copy(unsigned char* tile, int depth_left, int part, int parts) const {
    static_assert(!kNarrow, "an asynchronous copy has 4 bytes or more");
    each(depth_left, part, parts, [&](int i, const T* from, bool valid) { copy_async<kPackBytes>(tile + destination(i), from, valid); });
  }

  // For elements too narrow for that, in two halves: from global memory to registers ...
  __device__ __forceinline__ void fetch(int depth_left, int part, int parts) {
    each(depth_left, part, parts, [&](int i, const T* from, bool valid) { fetched_[i] = valid ? *from : T{}; });
  }
  // ... and from there to shared memory.
  __device__ __forceinline__ void store(unsigned char* tile, int part, int parts) const {
    each(0, part, parts, [&](int i, const T*, bool) { *reinterpret_cast<T*>(tile + destination(i)) = fetched_[i]; });
  }

  __device__ __forceinline__ void advance() { source_ += DEPTH_CONTIGUOUS ? DEPTH : DEPTH * pitch_; }

  // The i-th 16 rows of A (columns of B) of this warp by the step-th 16 steps in k, in quarters: the first 8 rows of A (columns of B) by
  // the first 8 steps, the last 8 by the first 8, the first 8 by the last 8, the last 8 by the last 8. A lane holds two steps of one row
  // of A (column of B).
  __device__ __forceinline__ void load_block(unsigned (&quarter)[4], unsigned tile_address, int i, int step) const {
    if constexpr (DEPTH_CONTIGUOUS) {
      load_matrices(quarter, tile_address + (block_offset_ ^ (step * 32)) + i * 16 * kRowBytes);
    } else {
      unsigned loaded[4];
      load_matrices_transposed(loaded, tile_address + (block_offset_ ^ (i * 32)) + step * 16 * kRowBytes);
      quarter[0] = loaded[0];
      quarter[1] = loaded[2];
      quarter[2] = loaded[1];
      quarter[3] = loaded[3];
    }
  }
};

// One block's tile of C; the rows of A and B, as stored, begin and end at multiples of VEC elements. See tensor_core_matmul.
template <typename T, int BM, int BN, int BK, int WM, int WN, int STAGES, int GROUP, int VEC, int A_TRANSPOSED, int B_TRANSPOSED>
__device__ __forceinline__ void tensor_core_tile(unsigned char* shared, T* c, const T* c_in, const T* __restrict__ a, const T* __restrict__ b,
                                                 long long m, long long n, long long k, long long lda, long long ldb, long long ldc,
                                                 float alpha, float beta) {
  constexpr int kWarpsN = BN / WN;
  constexpr int kThreads = BM / WM * kWarpsN * 32;
  constexpr int kSteps = BK / 16;
  constexpr int kBlocksM = WM / 16;
  constexpr int kBlocksN = WN / 16;
  static_assert(BM % WM == 0 && BN % WN == 0, "the warp tile divides the block tile");
  static_assert(WM % 16 == 0 && WN % 32 == 0, "a warp multiplies 16x16 blocks and writes 32 columns at a time");
  static_assert(BK == 32 || BK == 64, "at least two steps, so that one is read while the other is multiplied");
  static_assert(STAGES >= 2, "one tile is multiplied while the next is on its way");

  // Blocks are numbered down GROUP rows of tiles, then on to the next column: those that run at the same time share rows of A and
  // columns of B in L2.
  const unsigned tiles_m = static_cast<unsigned>((m + BM - 1) / BM);
  const unsigned tiles_n = static_cast<unsigned>((n + BN - 1) / BN);
  const unsigned group = blockIdx.x / (GROUP * tiles_n);
  const unsigned within = blockIdx.x % (GROUP * tiles_n);
  const unsigned group_rows = tiles_m - group * GROUP < GROUP ? tiles_m - group * GROUP : GROUP;
  const long long row0 = static_cast<long long>(group * GROUP + within % group_rows) * BM;
  const long long column0 = static_cast<long long>(within / group_rows) * BN;
  const int rows_left = static_cast<int>(m - row0 < BM ? m - row0 : BM);
  const int columns_left = static_cast<int>(n - column0 < BN ? n - column0 : BN);
  const int warp_row = threadIdx.x / 32 / kWarpsN * WM;
  const int warp_column = threadIdx.x / 32 % kWarpsN * WN;

  using a_operand = operand_tile<T, BM, BK, A_TRANSPOSED == 0, VEC, kThreads>;
  using b_operand = operand_tile<T, BN, BK, B_TRANSPOSED != 0, VEC, kThreads>;
  constexpr int kStageBytes = a_operand::kBytes + b_operand::kBytes;
  a_operand a_tile(A_TRANSPOSED ? a + row0 : a + row0 * lda, lda, rows_left, warp_row);
  b_operand b_tile(B_TRANSPOSED ? b + column0 * ldb : b + column0, ldb, columns_left, warp_column);

  long long depth_left = k;  // from the tile that is copied (fetched) next
  auto next_tile = [&]() {
    a_tile.advance();
    b_tile.advance();
    depth_left -= BK;
  };
  // Narrow elements are fetched one tile ahead of where they are stored, so that a whole tile is multiplied while they are on their way.
  auto copy = [&](int stage, int part, int parts) {
    const int left = static_cast<int>(depth_left < BK ? depth_left : BK);
    unsigned char* const tile = shared + stage * kStageBytes;
    if constexpr (a_operand::kNarrow) {
      a_tile.store(tile, part, parts);
      b_tile.store(tile + a_operand::kBytes, part, parts);
      a_tile.fetch(left, part, parts);
      b_tile.fetch(left, part, parts);
    } else {
      a_tile.copy(tile, left, part, parts);
      b_tile.copy(tile + a_operand::kBytes, left, part, parts);
    }
  };
  // Every tile's copies are one group, also where nothing is left to copy: the number of groups in flight stays the same.
  auto finish_copies = [&]() {
    commit_copies();
    next_tile();
  };
  if constexpr (a_operand::kNarrow) {
    const int left = static_cast<int>(k < BK ? k : BK);
    a_tile.fetch(left, 0, 1);
    b_tile.fetch(left, 0, 1);
    next_tile();
  }

  const unsigned shared_address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  unsigned a_block[2][kBlocksM][4];
  unsigned b_block[2][kBlocksN][4];
  auto load = [&](int buffer, int stage, int step) {
    const unsigned tile_address = shared_address + stage * kStageBytes;
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) a_tile.load_block(a_block[buffer][i], tile_address, i, step);
#pragma unroll
    for (int j = 0; j < kBlocksN; ++j) b_tile.load_block(b_block[buffer][j], tile_address + a_operand::kBytes, j, step);
  };

  float sum[kBlocksM][2 * kBlocksN][4] = {};
  auto multiply = [&](int buffer) {
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (int turn = 0; turn < 2 * kBlocksN; ++turn) {
        const int j = i % 2 ? 2 * kBlocksN - 1 - turn : turn;  // there and back: the operand used last is used again
        const unsigned (&b_quarter)[4] = b_block[buffer][j / 2];
        multiply_accumulate<T>(sum[i][j], a_block[buffer][i], b_quarter[j % 2], b_quarter[j % 2 + 2]);
      }
    }
  };

#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) {
    copy(stage, 0, 1);
    finish_copies();
  }
  wait_for_copies<STAGES - 2>();
  __syncthreads();
  load(0, 0, 0);

  int read_stage = 0;
  int write_stage = STAGES - 1;
#pragma unroll 1
  for (long long depth = 0; depth < k; depth += BK) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step == kSteps - 1) {
        // All reads of this tile are behind the barrier: after it, its place may be written.
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        read_stage = read_stage + 1 < STAGES ? read_stage + 1 : 0;
      }
      load((step + 1) % 2, read_stage, (step + 1) % kSteps);
      if (step < kSteps - 1) copy(write_stage, step, kSteps - 1);
      if (step == kSteps - 2) {
        finish_copies();
        write_stage = write_stage + 1 < STAGES ? write_stage + 1 : 0;
      }
      multiply(step % 2);
    }
  }

  const tensor_core_rows<T, VEC> rows(c + row0 * ldc + column0, c_in + row0 * ldc + column0, n, ldc, rows_left, columns_left, alpha, beta);
#pragma unroll
  for (int i = 0; i < kBlocksM; ++i) rows.write(sum[i], warp_row + i * 16, warp_column);
}

// A is m x k, B is k x n, C is m x n, row-major; A_TRANSPOSED: A is stored as k x m; B_TRANSPOSED: B is stored as n x k. lda, ldb and ldc are
// the elements between two rows as stored (ldc: of C and of C_in). C_in is not read where beta is 0; it may be C itself.
// VEC: lda, ldb and the addresses of A and B are multiples of VEC elements, and so are the lengths of their rows (A: k, or m; B: n, or
// k), unless there are zeros behind them up to the next multiple. 1 asks nothing, and sees for itself whether 8 can be used.
// `shared` is STAGES * BK * (BM + BN) * sizeof(T) bytes of shared memory, aligned to 16.
// Launch: (BM / WM) * (BN / WN) * 32 threads, ceil(m / BM) * ceil(n / BN) blocks.
template <typename T, int BM, int BN, int BK, int WM, int WN, int STAGES, int GROUP, int VEC, int A_TRANSPOSED, int B_TRANSPOSED>
__device__ __forceinline__ void tensor_core_matmul(unsigned char* shared, T* c, const T* c_in, const T* a, const T* b, long long m, long long n,
                                                   long long k, long long lda, long long ldb, long long ldc, float alpha, float beta) {
  if constexpr (VEC == 1) {
    const long long lengths = lda | ldb | (A_TRANSPOSED ? m : k) | (B_TRANSPOSED ? k : n);
    const unsigned long long addresses = reinterpret_cast<unsigned long long>(a) | reinterpret_cast<unsigned long long>(b);
    if (lengths % 8 == 0 && addresses % 16 == 0) {
      tensor_core_tile<T, BM, BN, BK, WM, WN, STAGES, GROUP, 8, A_TRANSPOSED, B_TRANSPOSED>(shared, c, c_in, a, b, m, n, k, lda, ldb, ldc,
                                                                                            alpha, beta);
      return;
    }
  }
  tensor_core_tile<T, BM, BN, BK, WM, WN, STAGES, GROUP, VEC, A_TRANSPOSED, B_TRANSPOSED>(shared, c, c_in, a, b, m, n, k, lda, ldb, ldc, alpha,
                                                                                          beta);
}

#endif
