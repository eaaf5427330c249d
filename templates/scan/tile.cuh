// Tiles of a scan: a block loads BLOCK * ITEMS neighbouring elements, scans them, adds what lies before the tile, and stores them.
//
// A warp has 32 * ITEMS neighbouring elements. A thread holds them as rows of neighbours: with TRANSPOSE one row of ITEMS, brought
// there through shared memory, so that global memory is still read by neighbouring threads side by side; without, a row for each
// load of VEC elements, rows of the warp lying one behind the other.
#pragma once

#include "async_copy.cuh"
#include "element.cuh"
#include "pack.cuh"

// The values of the dimension `kind`, which are given to the kernel by name.
enum Kind { exclusive, inclusive };
enum Step { hillis_steele, work_efficient, shuffle };

template <typename T, int BLOCK, int ITEMS, int VEC, int TRANSPOSE, int PAD>
struct tile_shape {
  static constexpr int kWarps = BLOCK / 32;
  static constexpr int kElements = BLOCK * ITEMS;
  static constexpr int kWarpElements = 32 * ITEMS;
  static constexpr int kPacks = ITEMS / VEC;  // per thread
  static constexpr int kWidth = TRANSPOSE ? ITEMS : VEC;
  static constexpr int kRows = ITEMS / kWidth;
  // PAD: a pack is left out after each 128 bytes of shared memory.
  static constexpr int kPadPeriod = 128 / (VEC * static_cast<int>(sizeof(T)));
  static constexpr int kWarpPacks = 32 * kPacks + (PAD ? (32 * kPacks - 1) / kPadPeriod : 0);
  static constexpr int kStagedPacks = TRANSPOSE ? kWarps * kWarpPacks : 1;  // of a block
  static __device__ __forceinline__ int staged_at(int pack_index) { return pack_index + (PAD ? pack_index / kPadPeriod : 0); }

  static_assert(BLOCK % 32 == 0 && (BLOCK & (BLOCK - 1)) == 0, "whole warps, a power of two");
  static_assert(ITEMS % VEC == 0, "whole loads");
};

// Registers of a thread, as far as `left` elements go from the warp's first; zero behind them.
template <typename T, typename Shape, int VEC>
__device__ __forceinline__ void load_warp(pack<T, VEC> (&held)[Shape::kPacks], const T* __restrict__ from, long long left, bool aligned) {
  const int lane = threadIdx.x % 32;
  if (aligned && left >= Shape::kWarpElements) {
#pragma unroll
    for (int i = 0; i < Shape::kPacks; ++i) held[i] = load_pack<VEC>(from + (i * 32 + lane) * VEC);
  } else {
#pragma unroll
    for (int i = 0; i < Shape::kPacks; ++i) {
      held[i] = pack<T, VEC>{};
#pragma unroll
      for (int v = 0; v < VEC; ++v) {
        const int at = (i * 32 + lane) * VEC + v;
        if (at < left) held[i].element[v] = from[at];
      }
    }
  }
}

template <typename T, typename Shape, int VEC>
__device__ __forceinline__ void store_warp(T* __restrict__ to, const pack<T, VEC> (&held)[Shape::kPacks], long long left, bool aligned) {
  const int lane = threadIdx.x % 32;
  if (aligned && left >= Shape::kWarpElements) {
#pragma unroll
    for (int i = 0; i < Shape::kPacks; ++i) store_pack(to + (i * 32 + lane) * VEC, held[i]);
  } else {
#pragma unroll
    for (int i = 0; i < Shape::kPacks; ++i) {
#pragma unroll
      for (int v = 0; v < VEC; ++v) {
        const int at = (i * 32 + lane) * VEC + v;
        if (at < left) to[at] = held[i].element[v];
      }
    }
  }
}

// What all threads before this one hold, added up, and all of the block's; every thread gets both. Ends behind a barrier if the step
// needs one to use `shared` (an element per thread) again. `shuffle` is done by rows and warps below.
template <typename Sum, Step STEP, int BLOCK>
__device__ __forceinline__ Sum scan_threads(Sum value, Sum& total, Sum* shared) {
  const int thread = threadIdx.x;
  shared[thread] = value;
  __syncthreads();
  if constexpr (STEP == hillis_steele) {
    for (int distance = 1; distance < BLOCK; distance *= 2) {
      const Sum before = thread >= distance ? shared[thread - distance] : Sum(0);
      __syncthreads();
      shared[thread] += before;
      __syncthreads();
    }
    total = shared[BLOCK - 1];
    const Sum before = thread > 0 ? shared[thread - 1] : Sum(0);
    __syncthreads();
    return before;
  } else {
    // Blelloch: sums up a tree, then what lies before each node down the tree.
    for (int distance = 1; distance < BLOCK; distance *= 2) {
      const int at = 2 * distance * (thread + 1) - 1;
      if (at < BLOCK) shared[at] += shared[at - distance];
      __syncthreads();
    }
    total = shared[BLOCK - 1];
    __syncthreads();
    if (thread == 0) shared[BLOCK - 1] = 0;
    __syncthreads();
    for (int distance = BLOCK / 2; distance > 0; distance /= 2) {
      const int at = 2 * distance * (thread + 1) - 1;
      if (at < BLOCK) {
        const Sum left = shared[at - distance];
        shared[at - distance] = shared[at];
        shared[at] += left;
      }
      __syncthreads();
    }
    const Sum before = shared[thread];
    __syncthreads();
    return before;
  }
}

// One tile in the registers of a block: what each row adds up to, element by element, and what lies before each row in the tile.
template <typename T, Step STEP, int BLOCK, int ITEMS, int VEC, int TRANSPOSE, int PAD>
struct tile {
  using Shape = tile_shape<T, BLOCK, ITEMS, VEC, TRANSPOSE, PAD>;
  using Sum = accumulator_t<T>;
  static constexpr int kSharedSums = STEP == shuffle ? Shape::kWarps : BLOCK;

  Sum sums[Shape::kRows][Shape::kWidth];
  Sum before[Shape::kRows];

  static __device__ __forceinline__ long long warp_offset(long long first) {
    return first + threadIdx.x / 32 * Shape::kWarpElements;
  }

  // Loads the elements from `first` on and scans them; every thread gets what the tile adds up to. There is a barrier within. Needs
  // kStagedPacks of shared memory for transposing and kSharedSums for sums.
  __device__ __forceinline__ Sum load_and_scan(const T* __restrict__ x, long long first, long long n, bool aligned,
                                               pack<T, VEC>* block_staged, Sum* shared) {
    pack<T, VEC> held[Shape::kPacks];
    const long long offset = warp_offset(first);
    load_warp<T, Shape, VEC>(held, x + offset, n - offset, aligned);
    if constexpr (TRANSPOSE) {
      pack<T, VEC>* const staged = warp_part(block_staged);
#pragma unroll
      for (int i = 0; i < Shape::kPacks; ++i) staged[Shape::staged_at(i * 32 + threadIdx.x % 32)] = held[i];
      __syncwarp();
      take(held, staged);
    }
    return scan(held, shared);
  }

  // The same in two steps: the copy to shared memory is only begun; a group of copies is closed by the caller. No barrier.
  static __device__ __forceinline__ void begin_load(const T* __restrict__ x, long long first, long long n, bool aligned,
                                                    pack<T, VEC>* block_staged) {
    pack<T, VEC>* const staged = warp_part(block_staged);
    const long long offset = warp_offset(first);
    const long long left = n - offset;
    const T* const from = x + offset;
    const int lane = threadIdx.x % 32;
    __syncwarp();  // the warp is done with what was there
    if (aligned && left >= Shape::kWarpElements) {
#pragma unroll
      for (int i = 0; i < Shape::kPacks; ++i) {
        copy_async<sizeof(pack<T, VEC>)>(staged + Shape::staged_at(i * 32 + lane), from + (i * 32 + lane) * VEC);
      }
    } else {
      pack<T, VEC> held[Shape::kPacks];
      load_warp<T, Shape, VEC>(held, from, left, false);
#pragma unroll
      for (int i = 0; i < Shape::kPacks; ++i) staged[Shape::staged_at(i * 32 + lane)] = held[i];
    }
  }
  __device__ __forceinline__ Sum scan_loaded(pack<T, VEC>* block_staged, Sum* shared) {
    pack<T, VEC> held[Shape::kPacks];
    __syncwarp();
    take(held, warp_part(block_staged));
    return scan(held, shared);
  }

  // Adds what lies before the tile and stores its elements.
  template <Kind KIND>
  __device__ __forceinline__ void store(T* __restrict__ y, Sum prefix, long long first, long long n, bool aligned, pack<T, VEC>* block_staged) {
    pack<T, VEC> held[Shape::kPacks];
#pragma unroll
    for (int row = 0; row < Shape::kRows; ++row) {
      const Sum start = prefix + before[row];
#pragma unroll
      for (int i = 0; i < Shape::kWidth; ++i) {
        const int at = row * Shape::kWidth + i;
        T& element = held[at / VEC].element[at % VEC];
        if constexpr (KIND == inclusive) narrow(start + sums[row][i], element);
        else narrow(i == 0 ? start : start + sums[row][i > 0 ? i - 1 : 0], element);
      }
    }
    const int lane = threadIdx.x % 32;
    if constexpr (TRANSPOSE) {
      pack<T, VEC>* const staged = warp_part(block_staged);
      __syncwarp();
#pragma unroll
      for (int i = 0; i < Shape::kPacks; ++i) staged[Shape::staged_at(lane * Shape::kPacks + i)] = held[i];
      __syncwarp();
#pragma unroll
      for (int i = 0; i < Shape::kPacks; ++i) held[i] = staged[Shape::staged_at(i * 32 + lane)];
    }
    const long long offset = warp_offset(first);
    store_warp<T, Shape, VEC>(y + offset, held, n - offset, aligned);
  }

 private:
  static __device__ __forceinline__ pack<T, VEC>* warp_part(pack<T, VEC>* block_staged) {
    return block_staged + threadIdx.x / 32 * Shape::kWarpPacks;
  }
  static __device__ __forceinline__ void take(pack<T, VEC> (&held)[Shape::kPacks], const pack<T, VEC>* staged) {
#pragma unroll
    for (int i = 0; i < Shape::kPacks; ++i) held[i] = staged[Shape::staged_at(threadIdx.x % 32 * Shape::kPacks + i)];
  }

  __device__ __forceinline__ Sum scan(const pack<T, VEC> (&held)[Shape::kPacks], Sum* shared) {
#pragma unroll
    for (int row = 0; row < Shape::kRows; ++row) {
      Sum sum = 0;
#pragma unroll
      for (int i = 0; i < Shape::kWidth; ++i) {
        const int at = row * Shape::kWidth + i;
        const Sum element = widen(held[at / VEC].element[at % VEC]);
        sum = i == 0 ? element : sum + element;
        sums[row][i] = sum;
      }
    }
    if constexpr (STEP != shuffle) {
      static_assert(Shape::kRows == 1, "threads hold neighbours");
      Sum total;
      before[0] = scan_threads<Sum, STEP, BLOCK>(sums[0][Shape::kWidth - 1], total, shared);
      return total;
    } else {
      return scan_rows(shared);
    }
  }

  // Rows lie across the lanes of a warp and one behind the other; then come the warps.
  __device__ __forceinline__ Sum scan_rows(Sum* warp_sums) {
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    Sum up_to[Shape::kRows];
#pragma unroll
    for (int row = 0; row < Shape::kRows; ++row) up_to[row] = sums[row][Shape::kWidth - 1];
#pragma unroll
    for (int lanes = 1; lanes < 32; lanes *= 2) {
#pragma unroll
      for (int row = 0; row < Shape::kRows; ++row) {
        const Sum lower = __shfl_up_sync(0xffffffffu, up_to[row], lanes);
        if (lane >= lanes) up_to[row] = lower + up_to[row];
      }
    }
    Sum warp_sum = 0;
#pragma unroll
    for (int row = 0; row < Shape::kRows; ++row) {
      const Sum lower = __shfl_up_sync(0xffffffffu, up_to[row], 1);
      before[row] = lane > 0 ? warp_sum + lower : warp_sum;
      warp_sum += __shfl_sync(0xffffffffu, up_to[row], 31);
    }
    if (lane == 0) warp_sums[warp] = warp_sum;
    __syncthreads();
    Sum lower_warps = 0;
    Sum total = 0;
#pragma unroll
    for (int other = 0; other < Shape::kWarps; ++other) {
      if (other == warp) lower_warps = total;
      total += warp_sums[other];
    }
#pragma unroll
    for (int row = 0; row < Shape::kRows; ++row) before[row] = lower_warps + before[row];
    return total;
  }
};
