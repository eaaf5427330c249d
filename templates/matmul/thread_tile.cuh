// The part of a block's tile that one thread computes: TM x TN results inside its warp's WM x WN. Rows (columns) come in groups of
// up to 16 bytes of neighbours, the groups as far apart as the lanes of the warp together cover: lanes then read neighbouring packs
// of shared memory, and write neighbouring packs of C.
#pragma once

#include "element.cuh"
#include "pack.cuh"
#include "problem.cuh"
#include "shared_pointer.cuh"

// The widest pack of elements that divides both.
__device__ constexpr int pack_width(int most, int per_thread, int multiple) {
  while (per_thread % most != 0 || multiple % most != 0) most /= 2;
  return most;
}

template <typename T, int BM, int BN, int TM, int TN, int WM, int WN, int PITCH_A, int PITCH_B, int SLICES>
class thread_tile {
 public:
  using Sum = accumulator_t<T>;
  static constexpr int kThreads = (BM / WM) * (BN / WN) * 32;  // of one slice in k
  static constexpr int kReadM = pack_width(16 / sizeof(Sum), TM, PITCH_A);
  static constexpr int kReadN = pack_width(16 / sizeof(Sum), TN, PITCH_B);
  static constexpr int kPacks = TM * TN / kReadN;
  static_assert(BM % WM == 0 && BN % WN == 0, "the warps' tiles divide the block's");
  static_assert(WM / TM >= 2 && (WM / TM) * (WN / TN) == 32 && WM % TM == 0 && WN % TN == 0, "the threads' tiles divide the warp's");

  __device__ __forceinline__ explicit thread_tile(int thread) {
    const int warp = thread / 32;
    const int lane = thread % 32;
    // Lanes i and i ^ 1 take the same columns of two groups of rows. A warp's reads of 16 bytes per lane go by quarters, two at once where such
    // neighbours (or i and i ^ 2) read the same, which this order gives for A and for B.
    row0_ = warp / (BN / WN) * WM + (lane / (2 * kLanesN) * 2 + lane % 2) * kReadM;
    column0_ = warp % (BN / WN) * WN + lane / 2 % kLanesN * kReadN;
  }

  // Of the i-th row and the j-th column of the thread, in the block's tile.
  __device__ __forceinline__ int row(int i) const { return row0_ + i / kReadM * (kReadM * kLanesM) + i % kReadM; }
  __device__ __forceinline__ int column(int j) const { return column0_ + j / kReadN * (kReadN * kLanesN) + j % kReadN; }

  // The thread's elements of A and B at one depth; the pointers lead to its first ones at that depth of the tiles.
  struct fragment {
    Sum a[TM];
    Sum b[TN];
  };
  __device__ __forceinline__ void read(fragment& to, shared_pointer<Sum> a_row, shared_pointer<Sum> b_row) const {
#pragma unroll
    for (int i = 0; i < TM; i += kReadM) {
      const auto part = (a_row + i * kLanesM).template load<kReadM>();
#pragma unroll
      for (int v = 0; v < kReadM; ++v) to.a[i + v] = part.element[v];
    }
#pragma unroll
    for (int j = 0; j < TN; j += kReadN) {
      const auto part = (b_row + j * kLanesN).template load<kReadN>();
#pragma unroll
      for (int v = 0; v < kReadN; ++v) to.b[j + v] = part.element[v];
    }
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; ++j) sum_[i][j] = 0;
    }
  }

  // FMA_ORDER: 0 along the rows; 1 the same, every second row backwards; 2 down the columns, every second one upwards. Then each
  // multiply-add shares an operand with the last. The compiler keeps the order more or less; what it does to reads of registers, and
  // to their banks, is for measuring.
  template <int FMA_ORDER>
  __device__ __forceinline__ void multiply_add(const fragment& f) {
    constexpr bool kByRows = FMA_ORDER < 2;
    constexpr bool kSerpentine = FMA_ORDER > 0;
    constexpr int kOuter = kByRows ? TM : TN;
    constexpr int kInner = kByRows ? TN : TM;
#pragma unroll
    for (int outer = 0; outer < kOuter; ++outer) {
#pragma unroll
      for (int step = 0; step < kInner; ++step) {
        const int inner = kSerpentine && outer % 2 == 1 ? kInner - 1 - step : step;
        const int i = kByRows ? outer : inner;
        const int j = kByRows ? inner : outer;
        sum_[i][j] += f.a[i] * f.b[j];
      }
    }
  }

  // Packs of results would have to lie in neighbouring registers, many in the bank of an operand that is read with them, and each multiply-add
  // would take longer. Where slices share few multiply-adds and then move their sums, packs are faster all the same.
  static constexpr bool kScattered = TM * TN * sizeof(Sum) >= (SLICES == 1 ? 256 : 512);

  // The thread's sums as they lie in scratch memory, those of all threads side by side: one by one if they are scattered, else in packs.
  __device__ __forceinline__ void put(Sum* tile, int thread) const {
    if constexpr (kScattered) {
#pragma unroll
      for (int i = 0; i < TM * TN; ++i) tile[i * kThreads + thread] = sum_[i / TN][i % TN];
    } else {
      put_packs(tile, thread);
    }
  }
  __device__ __forceinline__ void add(const Sum* tile, int thread) {
#pragma unroll
    for (int q = 0; q < kPacks; ++q) {
      const auto part = scratch(tile, q, thread);
#pragma unroll
      for (int v = 0; v < kReadN; ++v) sum_[q / (TN / kReadN)][q % (TN / kReadN) * kReadN + v] += part.element[v];
    }
  }
  // Pack q of them: packs of COUNT go along the thread's rows.
  template <int COUNT = kReadN>
  __device__ __forceinline__ static pack<Sum, COUNT> scratch(const Sum* tile, int q, int thread) {
    static_assert(kScattered || COUNT == kReadN, "as they were put");
    if constexpr (!kScattered) {
      return reinterpret_cast<const pack<Sum, COUNT>*>(tile)[q * kThreads + thread];
    } else {
      pack<Sum, COUNT> part;
#pragma unroll
      for (int v = 0; v < COUNT; ++v) part.element[v] = tile[(q * COUNT + v) * kThreads + thread];
      return part;
    }
  }

  // The same in packs, which other blocks of a cluster read faster.
  __device__ __forceinline__ void put_packs(Sum* tile, int thread) const {
#pragma unroll
    for (int q = 0; q < kPacks; ++q) {
      pack<Sum, kReadN> part;
#pragma unroll
      for (int v = 0; v < kReadN; ++v) part.element[v] = sum_[q / (TN / kReadN)][q % (TN / kReadN) * kReadN + v];
      *scratch_pack(tile, q, thread) = part;
    }
  }
  __device__ __forceinline__ static pack<Sum, kReadN>* scratch_pack(Sum* tile, int q, int thread) {
    return reinterpret_cast<pack<Sum, kReadN>*>(tile) + q * kThreads + thread;
  }

  // Writes COUNT neighbours to C, pack q of the thread's. `c` and `c_in` lead to the tile's corner, `rows` by `columns` of which are in C,
  // n elements apart; WIDTH neighbours are written at once.
  template <int WIDTH, epilogue EPILOGUE, int COUNT = kReadN>
  __device__ __forceinline__ void write_pack(int q, const Sum* sums, T* c, const T* c_in, long long n, int rows, int columns, double alpha,
                                             double beta) const {
    constexpr int kWidth = WIDTH < COUNT ? WIDTH : COUNT;
    const int r = row(q / (TN / COUNT));
    if (r >= rows) return;
#pragma unroll
    for (int v = 0; v < COUNT; v += kWidth) {
      const int at = column(q % (TN / COUNT) * COUNT) + v;
      if (at >= columns) continue;
      pack<T, kWidth> written;
#pragma unroll
      for (int w = 0; w < kWidth; ++w) {
        ::finish<EPILOGUE>(sums[v + w], alpha, beta, c_in + r * n + at + w, written.element[w]);
      }
      store_pack_global(c + r * n + at, written);
    }
  }
  // Writes all results, from the thread's registers.
  template <int WIDTH, epilogue EPILOGUE>
  __device__ __forceinline__ void write(T* c, const T* c_in, long long n, int rows, int columns, double alpha, double beta) const {
#pragma unroll
    for (int q = 0; q < kPacks; ++q) {
      write_pack<WIDTH, EPILOGUE>(q, &sum_[q / (TN / kReadN)][q % (TN / kReadN) * kReadN], c, c_in, n, rows, columns, alpha, beta);
    }
  }

  // The same by way of shared memory, for scattered results. Neighbouring lanes write neighbours in C. `staging`: kStaged elements of
  // shared memory for all warps, which nobody else uses meanwhile.
  static constexpr int kStagedPitch = WN + WN / 32 + (WN > 128 ? 2 : 1);  // such that neither way meets a bank more than twice
  static constexpr int kStaged = kThreads / 32 * (WM / TM) * kStagedPitch;
  template <int WIDTH, epilogue EPILOGUE>
  __device__ __forceinline__ void write_staged(Sum* staging, T* c, const T* c_in, long long n, int rows, int columns, double alpha,
                                               double beta) const {
    constexpr int kWidth = WIDTH < kReadN ? WIDTH : kReadN;
    const int lane = threadIdx.x % 32;
    const int warp_row = row0_ / WM * WM;
    const int warp_column = column0_ / WN * WN;
    const int lane_column = column0_ - warp_column;
    Sum* const warp = staging + (warp_row / WM * (BN / WN) + warp_column / WN) * (kLanesM * kStagedPitch);
    Sum* const mine = warp + (row0_ - warp_row) / kReadM * kStagedPitch;
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; ++j) mine[staged_column(lane_column + j / kReadN * (kReadN * kLanesN) + j % kReadN)] = sum_[i][j];
      __syncwarp();
#pragma unroll
      for (int p = 0; p < TN / kWidth; ++p) {
        const int first = (p * 32 + lane) * kWidth;  // of the elements of these rows of the warp, one row after the other
        const int r = warp_row + first / WN * kReadM + i / kReadM * (kReadM * kLanesM) + i % kReadM;
        const int at = warp_column + first % WN;
        if (r >= rows || at >= columns) continue;
        pack<T, kWidth> written;
#pragma unroll
        for (int w = 0; w < kWidth; ++w) {
          const Sum sum = warp[first / WN * kStagedPitch + staged_column(first % WN + w)];
          ::finish<EPILOGUE>(sum, alpha, beta, c_in + r * n + at + w, written.element[w]);
        }
        store_pack_global(c + r * n + at, written);
      }
      __syncwarp();
    }
  }

 private:
  __device__ __forceinline__ static int staged_column(int column) { return column + column / 32; }

  static constexpr int kLanesM = WM / TM;
  static constexpr int kLanesN = WN / TN;
  int row0_, column0_;
  Sum sum_[TM][TN];
};
