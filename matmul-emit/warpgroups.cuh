// C = alpha * A * B + beta * C_in on the tensor cores of sm_90a: f16 or bf16 elements, f32 sums, both operands read from shared memory by
// warpgroups. Rows of A, B and C as stored are multiples of 8 elements long; m, n, k are otherwise free.
//
// Tiles of A and B, 64 steps in k deep, come to shared memory by asynchronous copies, STAGES of them in a ring. While one is multiplied, the next is
// there and STAGES - 2 are on their way: the place of a tile is filled again two turns after its products began, when all warpgroups have
// waited for them.
#pragma once

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

#include "async_copy.cuh"
#include "problem.cuh"
#include "shared_memory.cuh"
#include "tensor_core_rows.cuh"
#include "wgmma.cuh"

// A block's tile of A or B in shared memory, OUTER rows of A (columns of B) by 64 steps in k, in the pieces that matrix_descriptor describes.
// DEPTH_CONTIGUOUS: steps in k are neighbours in memory, else rows of A (columns of B) are.
template <typename T, int OUTER, bool DEPTH_CONTIGUOUS, int THREADS>
class warpgroup_operand {
  static constexpr int kDepth = 64;
  static constexpr int kChunk = 8;        // elements that are copied at once: 16 bytes
  static constexpr int kPieceRow = 128;   // bytes
  static constexpr int kChunksPerRow = (DEPTH_CONTIGUOUS ? kDepth : OUTER) / kChunk;  // of a row in memory
  static constexpr int kRowStep = THREADS / kChunksPerRow;                            // rows that the threads cover at once
  static constexpr int kCopies = (DEPTH_CONTIGUOUS ? OUTER : kDepth) / kRowStep;
  static_assert(kRowStep >= 8 && kRowStep % 8 == 0, "all of a thread's copies go to the same row of a piece");
  static_assert(kCopies * kRowStep == (DEPTH_CONTIGUOUS ? OUTER : kDepth), "the threads share a tile evenly");
  static_assert(OUTER % 64 == 0, "whole pieces");

 public:
  static constexpr int kBytes = OUTER * kDepth * static_cast<int>(sizeof(T));
  static constexpr bool kDepthContiguous = DEPTH_CONTIGUOUS;

  // `corner` is the tile's first element, `pitch` the elements from row to row in memory, `outer_left` how much of OUTER lies in the matrix.
  __device__ __forceinline__ warpgroup_operand(const T* corner, long long pitch, int outer_left) : pitch_(pitch) {
    const int row = threadIdx.x / kChunksPerRow;
    const int chunk = threadIdx.x % kChunksPerRow;
    source_ = corner + row * pitch + chunk * kChunk;
    place_ = chunk / 8 * (kDepth * kPieceRow) + row * kPieceRow + ((chunk % 8) ^ (row % 8)) * 16;
    depth_ = DEPTH_CONTIGUOUS ? chunk * kChunk : row;
    outer_left_ = outer_left - (DEPTH_CONTIGUOUS ? row : chunk * kChunk);
  }

  // Starts the copies of the next tile, of which `depth_left` steps in k lie inside the matrix (0 or less: none do); zeros elsewhere.
  __device__ __forceinline__ void copy(unsigned char* tile, int depth_left) {
    const T* row = source_;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const bool valid = DEPTH_CONTIGUOUS ? i * kRowStep < outer_left_ && depth_ < depth_left : 0 < outer_left_ && depth_ + i * kRowStep < depth_left;
      copy_async<16>(tile + place_ + i * (kRowStep * kPieceRow), row, valid);
      row += kRowStep * pitch_;
    }
    source_ += DEPTH_CONTIGUOUS ? kDepth : kDepth * pitch_;
  }

  // From row of A (column of B) `outer` (a multiple of 64), and from the step-th 16 steps in k on.
  static __device__ __forceinline__ unsigned long long descriptor(unsigned tile, int outer, int step) {
    if constexpr (DEPTH_CONTIGUOUS) {
      return matrix_descriptor<true>(tile + outer * kPieceRow + step * 32, 8 * kPieceRow, 0);
    } else {
      return matrix_descriptor<false>(tile + outer / 64 * (kDepth * kPieceRow) + step * (16 * kPieceRow), kDepth * kPieceRow, 8 * kPieceRow);
    }
  }

 private:
  const T* source_;
  long long pitch_;
  int place_;       // of the thread's first chunk, in bytes from the tile's begin
  int depth_;       // of that chunk
  int outer_left_;  // from that chunk on
};

// Each warpgroup multiplies WM rows by all BN columns of the block's tile. Launch: BM / WM * 128 threads, ceil(m / BM) * ceil(n / BN) blocks,
// STAGES * 64 * (BM + BN) * sizeof(T) + 1024 bytes of shared memory (the tiles begin at a multiple of 1024).
template <typename T, transposition TA, transposition TB, epilogue EPILOGUE, int BM, int BN, int WM, int STAGES, int GROUP, int BLOCKS>
__global__ void __launch_bounds__(BM / WM * 128, BLOCKS) matmul_warpgroups(MATMUL_ARGUMENTS(T)) {
  constexpr int kThreads = BM / WM * 128;
  constexpr int kDepth = 64;
  constexpr int kRows = WM / 64;
  static_assert(WM % 64 == 0 && BM % WM == 0, "a product is of 64 rows");
  static_assert(STAGES >= 3, "one tile is multiplied, the one before may still be, and another is on its way");
  using a_operand = warpgroup_operand<T, BM, TA == transposition::n, kThreads>;
  using b_operand = warpgroup_operand<T, BN, TB == transposition::t, kThreads>;
  constexpr int kStageBytes = a_operand::kBytes + b_operand::kBytes;

  unsigned char* shared = shared_memory<unsigned char>();
  shared += (1024 - static_cast<unsigned>(__cvta_generic_to_shared(shared)) % 1024) % 1024;
  const unsigned shared_address = static_cast<unsigned>(__cvta_generic_to_shared(shared));

  const tile_place place = place_of_tile<GROUP>(blockIdx.x, (m + BM - 1) / BM, (n + BN - 1) / BN);
  const long long row0 = place.row * BM;
  const long long column0 = place.column * BN;
  const int rows_left = static_cast<int>(m - row0 < BM ? m - row0 : BM);
  const int columns_left = static_cast<int>(n - column0 < BN ? n - column0 : BN);
  const long long a_stride = stride_of_a<TA>(m, k);
  const long long b_stride = stride_of_b<TB>(n, k);
  a_operand a_tile(TA == transposition::t ? a + row0 : a + row0 * a_stride, a_stride, rows_left);
  b_operand b_tile(TB == transposition::t ? b + column0 * b_stride : b + column0, b_stride, columns_left);

  long long depth_left = k;  // from the tile that is copied next
  auto copy = [&](int stage) {
    const int left = static_cast<int>(depth_left < kDepth ? depth_left : kDepth);
    a_tile.copy(shared + stage * kStageBytes, left);
    b_tile.copy(shared + stage * kStageBytes + a_operand::kBytes, left);
    commit_copies();  // a group for each tile, also where nothing is left: the number of groups in flight stays the same
    depth_left -= kDepth;
  };
#pragma unroll
  for (int stage = 0; stage < STAGES - 2; ++stage) copy(stage);

  const int first_row = static_cast<int>(threadIdx.x) / 128 * WM;
  float sum[kRows][BN / 8][4] = {};
  int read_stage = 0;
  int write_stage = STAGES - 2;
#pragma unroll 1
  for (long long depth = 0; depth < k; depth += kDepth) {
    // The tile is there for everybody, and everybody has waited for the products of the one before the last: its place is free.
    wait_for_copies<STAGES - 3>();
    publish_to_products();
    __syncthreads();
    const unsigned tile = shared_address + read_stage * kStageBytes;
    begin_products();
#pragma unroll
    for (int step = 0; step < kDepth / 16; ++step) {
      const unsigned long long b_step = b_operand::descriptor(tile + a_operand::kBytes, 0, step);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        warpgroup_multiply_accumulate<T, a_operand::kDepthContiguous, b_operand::kDepthContiguous>(
            sum[i], a_operand::descriptor(tile, first_row + i * 64, step), b_step);
      }
    }
    commit_products();
    copy(write_stage);
    wait_for_products<1>();
    read_stage = read_stage + 1 < STAGES ? read_stage + 1 : 0;
    write_stage = write_stage + 1 < STAGES ? write_stage + 1 : 0;
  }
  wait_for_products<0>();

  const tensor_core_rows<T, 8> rows(c + row0 * n + column0, c_in + row0 * n + column0, n, n, rows_left, columns_left,
                                    EPILOGUE == alpha_beta ? static_cast<float>(alpha) : 1.0f,
                                    EPILOGUE == alpha_beta ? static_cast<float>(beta) : 0.0f);
#pragma unroll
  for (int i = 0; i < kRows; ++i) rows.write(sum[i], first_row + i * 64 + static_cast<int>(threadIdx.x) % 128 / 32 * 16, 0);
}

#endif
