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

template <typename T, bool DEPTH_FIRST, int SPAN, int BK, int PITCH, int VEC, int THREADS>
class operand_loader {
 public:
  using Sum = accumulator_t<T>;
  static constexpr bool kAsync = !DEPTH_FIRST && sizeof(T) == sizeof(Sum);

  // `stride`: elements from one row in memory to the next. `positions`: how many there are from `position` on, at least one. Threads beyond
  // the last one load that again: it is multiplied into results that do not exist, and costs no comparison in the loop.
  __device__ __forceinline__ operand_loader(const T* operand, long long stride, long long position, long long positions, long long depth) {
    const int last = static_cast<int>(positions < SPAN ? positions - 1 : SPAN - 1) / kUnit * kUnit;
    int first;
    if constexpr (DEPTH_FIRST) {
      const int low = threadIdx.x % kLow;
      const int place = threadIdx.x / kLow;
      first = place % SPAN;
      depth_ = (place / SPAN * kLow + low) * VEC;
      next_ = operand + (position + min(first, last)) * stride + depth + depth_;
    } else {
      first = threadIdx.x % kRowPacks * VEC;
      depth_ = threadIdx.x / kRowPacks;
      next_ = operand + (depth + depth_) * stride + position + min(first, last);
      step_ = kDepthStep * stride;
    }
#pragma unroll
    for (int r = 1; r < kPositionPasses; ++r) {
      const long long further = min(first + r * kPositionStep, last) - min(first + (r - 1) * kPositionStep, last);
      further_[r - 1] = DEPTH_FIRST ? further * stride : further;
    }
    offset_ = depth_ * PITCH + first;
  }

  // Begins to bring the next tile to shared memory, or as far as registers. WHOLE: all its depths exist, otherwise `depth_left`; what does
  // not is zero.
  template <bool WHOLE>
  __device__ __forceinline__ void start(shared_pointer<Sum> tile, int depth_left) {
    const shared_pointer<Sum> to = tile + offset_;
    depth_left -= depth_;
    if constexpr (DEPTH_FIRST) {
      const T* row = next_;
#pragma unroll
      for (int r = 0; r < kPositionPasses; ++r) {
        if (r > 0) row += further_[r - 1];
#pragma unroll
        for (int h = 0; h < kDepthPasses; ++h) {
          const bool valid = WHOLE || h * kDepthStep < depth_left;
          staged_[r * kDepthPasses + h] = valid ? load_pack<VEC>(row + h * kDepthStep) : pack<T, VEC>{};
        }
      }
      next_ += BK;
    } else {
#pragma unroll
      for (int h = 0; h < kDepthPasses; ++h) {
        const bool valid = WHOLE || h * kDepthStep < depth_left;
        const T* from = next_;
#pragma unroll
        for (int r = 0; r < kPositionPasses; ++r) {
          if (r > 0) from += further_[r - 1];
          if constexpr (kAsync) {
            constexpr int kBytes = VEC * sizeof(T) < 16 ? VEC * sizeof(T) : 16;
#pragma unroll
            for (int v = 0; v < VEC; v += kBytes / sizeof(T)) {
              copy_async<kBytes>(to + (h * kDepthStep * PITCH + r * kPositionStep + v), from + v, valid);
            }
          } else {
            staged_[h * kPositionPasses + r] = valid ? load_pack<VEC>(from) : pack<T, VEC>{};
          }
        }
        next_ += step_;
      }
    }
  }

  // Brings what start() left in registers to the same tile.
  __device__ __forceinline__ void finish(shared_pointer<Sum> tile) const {
    if constexpr (!kAsync) {
      const shared_pointer<Sum> to = tile + offset_;
#pragma unroll
      for (int r = 0; r < kPositionPasses; ++r) {
#pragma unroll
        for (int h = 0; h < kDepthPasses; ++h) {
          const int at = h * kDepthStep * PITCH + r * kPositionStep;
          if constexpr (DEPTH_FIRST) {
            const pack<T, VEC>& read = staged_[r * kDepthPasses + h];
#pragma unroll
            for (int v = 0; v < VEC; ++v) (to + (at + v * PITCH)).store(pack<Sum, 1>{{widen(read.element[v])}});
          } else {
            pack<Sum, VEC> wide;
#pragma unroll
            for (int v = 0; v < VEC; ++v) wide.element[v] = widen(staged_[h * kPositionPasses + r].element[v]);
            (to + at).store(wide);
          }
        }
      }
    }
  }

 private:
  static constexpr int kPacks = SPAN * BK / (VEC * THREADS);  // that one thread moves per tile
  static_assert(kPacks * VEC * THREADS == SPAN * BK, "the threads share a tile evenly");
  static_assert(BK % VEC == 0 && SPAN % VEC == 0, "packs do not straddle rows");

  // Depths first: two neighbouring lanes read neighbouring packs of one row (a sector, in f32), the others go down the rows. With
  // tiles padded by 4 their stores then fall into different banks.
  static constexpr int kLow = BK / VEC < 2 ? BK / VEC : 2;
  static constexpr int kRowPacks = SPAN / VEC;
  static constexpr int kRound = DEPTH_FIRST ? kLow * SPAN : kRowPacks;  // threads that cover each position once
  static constexpr bool kMore = THREADS >= kRound;
  static_assert(kMore ? THREADS % kRound == 0 : kRound % THREADS == 0, "whole rounds");
  static constexpr int kPositionPasses = kMore ? 1 : kRound / THREADS;
  static constexpr int kDepthPasses = kPacks / kPositionPasses;
  static constexpr int kPositionStep = kMore ? SPAN : DEPTH_FIRST ? THREADS / kLow : THREADS * VEC;
  static constexpr int kDepthStep = (kMore ? THREADS / kRound : 1) * (DEPTH_FIRST ? kLow * VEC : 1);
  static constexpr int kUnit = DEPTH_FIRST ? 1 : VEC;  // positions that are loaded together

  const T* next_;
  long long step_;  // to the next depth that the thread loads, where a row in memory is one depth
  long long further_[kPositionPasses > 1 ? kPositionPasses - 1 : 1];  // from one pass's position to the next one's
  int depth_;   // of the thread's first pack, in the tile
  int offset_;  // its place in shared memory
  pack<T, VEC> staged_[kAsync ? 1 : kPacks];
};
