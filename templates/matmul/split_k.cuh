// Which part of the product a block computes where k is split over blocks, and how the parts are summed: always in the order of k,
// so that a result does not depend on which block came first.
//
// SPLIT > 1: each tile of C in SPLIT parts, the k steps as even as they go. SPLIT = 0: uneven, as many blocks as fill the GPU ("stream-K").
// The tiles that do not fill a last wave, if they are few with one full wave before them, are laid end to end, all their steps, and cut into
// as many equal stretches as there are blocks; a stretch may begin and end inside tiles. The other tiles then go to the blocks whole: blocks
// that run together are at the same step of them, and find in L2 what others read.
#pragma once

#include "problem.cuh"

// Steps of k, BK deep each, of one tile of C.
struct stretch {
  long long tile, begin, end;
  long long slot;  // of scratch memory, where it is not the whole tile
};

template <int SPLIT>
class k_split {
 public:
  // `steps`: of one tile. `blocks`: of the grid.
  __device__ __forceinline__ k_split(long long tiles, long long steps, long long blocks) : tiles_(tiles), steps_(steps), blocks_(blocks) {
    if constexpr (SPLIT == 0) {
      const long long last = tiles % blocks;
      streamed_ = last + (tiles >= blocks && last != 0 && 2 * last < blocks ? blocks : 0);
      stretches_ = streamed_ * steps < blocks ? streamed_ * steps : blocks;
    }
  }

  __device__ __forceinline__ void start(long long block) {
    if constexpr (SPLIT == 0) {
      at_ = block < stretches_ ? begin_of(block) : 0;
      end_ = block < stretches_ ? begin_of(block + 1) : 0;
      whole_ = streamed_ + block;
    } else {
      whole_ = block;
    }
  }

  // The block's next work; false when there is none.
  __device__ __forceinline__ bool next(long long block, stretch& work) {
    if constexpr (SPLIT == 0) {
      if (at_ < end_) {
        work.tile = at_ / steps_;
        work.begin = at_ - work.tile * steps_;
        work.end = end_ - work.tile * steps_ < steps_ ? end_ - work.tile * steps_ : steps_;
        work.slot = slot_of(block, work.begin);
        at_ += work.end - work.begin;
        return true;
      }
      if (whole_ >= tiles_) return false;
      work = {whole_, 0, steps_, 0};
      whole_ += blocks_;
      return true;
    } else {
      if (whole_ >= tiles_ * SPLIT) return false;
      const long long part = SPLIT == 1 ? 0 : static_cast<unsigned>(whole_) / static_cast<unsigned>(tiles_);
      work = {whole_ - part * tiles_, part * steps_ / SPLIT, (part + 1) * steps_ / SPLIT, whole_};
      whole_ = tiles_ * SPLIT;
      return true;
    }
  }

  // The first tiles may have parts, later ones have none.
  __device__ __forceinline__ long long tiles_in_parts() const { return SPLIT == 0 ? streamed_ : tiles_; }
  // The scratch slots of a tile, in the order of k: slot(tile, 0) ... slot(tile, parts - 1). One part: the tile was computed whole.
  __device__ __forceinline__ int parts(long long tile) const {
    if constexpr (SPLIT == 0) {
      if (tile >= streamed_) return 1;
      return static_cast<int>(block_of(tile * steps_ + steps_ - 1) - block_of(tile * steps_) + 1);
    } else {
      return SPLIT;
    }
  }
  __device__ __forceinline__ long long slot(long long tile, int part) const {
    if constexpr (SPLIT == 0) {
      const long long block = block_of(tile * steps_) + part;
      return slot_of(block, part == 0 ? 0 : 1);
    } else {
      return part * tiles_ + tile;
    }
  }

 private:
  // A block has at most two stretches that are not whole tiles, of which the second begins its tile.
  __device__ __forceinline__ static long long slot_of(long long block, long long begin) { return 2 * block + (begin == 0 ? 1 : 0); }
  __device__ __forceinline__ long long begin_of(long long block) const { return block * (streamed_ * steps_) / stretches_; }
  __device__ __forceinline__ long long block_of(long long step) const { return ((step + 1) * stretches_ - 1) / (streamed_ * steps_); }

  long long tiles_, steps_, blocks_;
  long long streamed_ = 0, stretches_ = 1;
  long long at_ = 0, end_ = 0, whole_ = 0;
};

// Whether the block is the last of `parts` that got here for a tile; each has written its part before. The last one sets the ticket
// back to zero, for the next launch. `shared` is one int that nobody else uses meanwhile.
__device__ __forceinline__ bool last_of(int* ticket, int parts, int* shared) {
  __threadfence();  // what this thread wrote is seen by whoever sees the ticket
  __syncthreads();
  if (threadIdx.x == 0) {
    *shared = atomicAdd(ticket, 1) == parts - 1;
    if (*shared) *ticket = 0;
  }
  __syncthreads();
  const bool last = *shared != 0;
  __threadfence();
  __syncthreads();
  return last;
}
