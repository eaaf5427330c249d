// The way of A or B from global memory into tiles of shared memory, which are kept by depth: [depth][position], where a position is
// a row of A or a column of B. Outside the matrix they are zero, so that what is multiplied there adds nothing.
//
// An operand whose positions are neighbours in memory (B, and A kept transposed) is copied as it stands, by cp.async where no
// conversion is needed. One whose depths are neighbours (A, and B kept transposed) is read in wide packs into registers and turned
// on its way to shared memory: there cp.async could move single elements only, which costs more instructions than it saves.
#pragma once

#include "async_copy.cuh"
#include "element.cuh"
#include "pack.cuh"

template <typename T, bool DEPTH_FIRST, int SPAN, int BK, int PITCH, int VEC, int THREADS, int TILES>
class operand_loader {
 public:
  using Sum = accumulator_t<T>;
  static constexpr bool kAsync = !DEPTH_FIRST && sizeof(T) == sizeof(Sum);

  // `tiles`: the first of the tiles in shared memory. `stride`: elements from one row in memory to the next. `positions`: how many there are
  // from `position` on.
  __device__ __forceinline__ operand_loader(Sum* tiles, const T* operand, long long stride, long long position, long long positions,
                                            long long depth)
      : depth_(depth_of_thread()), to_(tiles + depth_ * PITCH + position_of_thread()) {
    const int first = position_of_thread();
    if constexpr (DEPTH_FIRST) {
      next_ = operand + (position + first) * stride + depth + depth_;
      step_ = kPositionStep * stride;
    } else {
      next_ = operand + (depth + depth_) * stride + position + first;
      step_ = kDepthStep * stride;
    }
    left_ = static_cast<int>(positions < SPAN ? positions : SPAN) - first;
  }

  // Begins to bring the next tile to shared memory, `at` elements behind the first one, or as far as registers. start() is for tiles all of
  // whose positions and depths exist, and so compares nothing; start_ragged() for any, with the number of depths that exist: what does not
  // is zero. Up to TILES tiles, by number, can be on their way before the first is finished.
  __device__ __forceinline__ void start(int at, int tile) { start<true>(at, 0, staged_[kAsync ? 0 : tile]); }
  __device__ __forceinline__ void start_ragged(int at, int depth_left, int tile) {
    start<false>(at, depth_left - depth_, staged_[kAsync ? 0 : tile]);
  }

  // Goes on to the tile behind that. Apart from start(), so that it need not wait until the copies have read their addresses.
  __device__ __forceinline__ void advance() { next_ += DEPTH_FIRST ? BK : kDepthPasses * step_; }

  // Brings what start() left in registers to the same tile.
  __device__ __forceinline__ void finish(int at, int tile) const {
    if constexpr (!kAsync) {
      const pack<T, VEC>(&staged)[kHeld] = staged_[tile];
      const shared_pointer<Sum> to = to_ + at;
#pragma unroll
      for (int r = 0; r < kPositionPasses; ++r) {
#pragma unroll
        for (int h = 0; h < kDepthPasses; ++h) {
          const int pass = h * kDepthStep * PITCH + r * kPositionStep;
          if constexpr (DEPTH_FIRST) {
            const pack<T, VEC>& read = staged[r * kDepthPasses + h];
#pragma unroll
            for (int v = 0; v < VEC; ++v) (to + (pass + v * PITCH)).store(pack<Sum, 1>{{widen(read.element[v])}});
          } else {
            pack<Sum, VEC> wide;
#pragma unroll
            for (int v = 0; v < VEC; ++v) wide.element[v] = widen(staged[h * kPositionPasses + r].element[v]);
            (to + pass).store(wide);
          }
        }
      }
    }
  }

 private:
  static constexpr int kPacks = SPAN * BK / (VEC * THREADS);  // that one thread moves per tile
  static constexpr int kHeld = kAsync ? 1 : kPacks;             // and of these in registers
  static_assert(kPacks * VEC * THREADS == SPAN * BK, "the threads share a tile evenly");
  static_assert(BK % VEC == 0 && SPAN % VEC == 0, "packs do not straddle rows");

  // Depths first: two neighbouring lanes read neighbouring packs of one row (a sector, in f32), the others go down the rows. With
  // tiles padded by 4 their stores then fall into different banks.
  static constexpr int kLow = BK / VEC < 2 ? BK / VEC : 2;
  static constexpr int kRound = kLow * SPAN;  // threads that cover each position once
  static constexpr bool kMore = THREADS >= kRound;
  static_assert(!DEPTH_FIRST || (kMore ? THREADS % kRound == 0 : kRound % THREADS == 0), "whole rounds");

  // Positions first: as many lanes share a row as lets a thread stay in one, whose packs are then constants apart, but enough for a cache
  // line of 128 bytes.
  static constexpr int kRowPacks = SPAN / VEC;
  static constexpr int kLine = 128 / (VEC * static_cast<int>(sizeof(T)));
  static constexpr int kRowLanes = kRowPacks < kLine || kRowPacks < THREADS / BK ? kRowPacks : kLine > THREADS / BK ? kLine : THREADS / BK;
  static_assert(DEPTH_FIRST || (kRowPacks % kRowLanes == 0 && THREADS % kRowLanes == 0), "whole rows");

  static constexpr int kPositionPasses = !DEPTH_FIRST ? kRowPacks / kRowLanes : kMore ? 1 : kRound / THREADS;
  static constexpr int kDepthPasses = kPacks / kPositionPasses;
  static constexpr int kPositionStep = !DEPTH_FIRST ? kRowLanes * VEC : kMore ? SPAN : THREADS / kLow;
  static constexpr int kDepthStep = !DEPTH_FIRST ? THREADS / kRowLanes : (kMore ? THREADS / kRound : 1) * kLow * VEC;

  // The thread's first pack, in the tile.
  __device__ __forceinline__ static int position_of_thread() {
    return DEPTH_FIRST ? threadIdx.x / kLow % SPAN : threadIdx.x % kRowLanes * VEC;
  }
  __device__ __forceinline__ static int depth_of_thread() {
    return DEPTH_FIRST ? static_cast<int>(threadIdx.x / kLow / SPAN * kLow + threadIdx.x % kLow) * VEC : threadIdx.x / kRowLanes;
  }

  template <bool WHOLE>
  __device__ __forceinline__ void start(int at, int depth_left, pack<T, VEC> (&staged)[kHeld]) {
    const shared_pointer<Sum> to = to_ + at;
    if constexpr (DEPTH_FIRST) {
      const T* row = next_;
#pragma unroll
      for (int r = 0; r < kPositionPasses; ++r) {
#pragma unroll
        for (int h = 0; h < kDepthPasses; ++h) {
          const bool valid = WHOLE || (r * kPositionStep < left_ && h * kDepthStep < depth_left);
          staged[r * kDepthPasses + h] = valid ? load_pack<VEC>(row + h * kDepthStep) : pack<T, VEC>{};
        }
        row += step_;
      }
    } else {
      const T* row = next_;
#pragma unroll
      for (int h = 0; h < kDepthPasses; ++h) {
#pragma unroll
        for (int r = 0; r < kPositionPasses; ++r) {
          const bool valid = WHOLE || (r * kPositionStep < left_ && h * kDepthStep < depth_left);
          const T* const from = row + r * kPositionStep;
          if constexpr (kAsync) {
            constexpr int kBytes = VEC * sizeof(T) < 16 ? VEC * sizeof(T) : 16;
#pragma unroll
            for (int v = 0; v < VEC; v += kBytes / sizeof(T)) {
              copy_async<kBytes>(to + (h * kDepthStep * PITCH + r * kPositionStep + v), from + v, valid);
            }
          } else {
            staged[h * kPositionPasses + r] = valid ? load_pack<VEC>(from) : pack<T, VEC>{};
          }
        }
        row += step_;
      }
    }
  }

  const int depth_;               // of the thread's first pack, in the tile
  const shared_pointer<Sum> to_;  // its place in the first tile
  const T* next_;                 // its place in the next tile in memory
  long long step_;                // from the rows of one pass to those of the next
  int left_;                      // positions from it on that exist
  pack<T, VEC> staged_[kAsync ? 1 : TILES][kHeld];
};
