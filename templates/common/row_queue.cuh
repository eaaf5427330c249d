// Rows that the same threads work on one after the other: while one is in registers, the next ones are on their way to shared memory.
//
// Packs belong to threads as in row.cuh, REGISTERS of them to each thread at most: longer rows are not for this. Shared memory has room for as
// many, and for the first EXTRA of the row after that. A thread reads from it only what it had copied there itself, and sends for what comes
// next as soon as it has read: no barrier is needed, and memory is kept busy while the row is reduced and written.
#pragma once

#include "async_copy.cuh"
#include "shared_pointer.cuh"

// BLOCK: threads of the block. WHOLE: rows have REGISTERS * THREADS packs, which saves the comparisons.
template <typename T, int VEC, int THREADS, int REGISTERS, int EXTRA, int BLOCK, bool WHOLE>
class row_queue {
 public:
  using item = pack<T, VEC>;
  static_assert(0 <= EXTRA && EXTRA <= REGISTERS, "two rows are on their way at most");
  static constexpr int kGroup = REGISTERS < 4 ? REGISTERS : 4;  // packs that arrive together
  static constexpr int kGroups = (REGISTERS + kGroup - 1) / kGroup;
  static constexpr int kPlaces = REGISTERS + EXTRA;  // they are used in turn

  // `thread` is this one's number among THREADS. `shared` has room for kPlaces * BLOCK packs of the whole block.
  __device__ __forceinline__ row_queue(int thread, item* shared) : shared_(reinterpret_cast<T*>(shared + threadIdx.x)), thread_(thread) {}

  // Starts the reading of the first two rows. As in row_slice a row is aligned to a pack and has `packs` of them: 0 for one behind the last.
  __device__ __forceinline__ void begin(const T* first, long long first_packs, const T* second, long long second_packs) {
    next_ = part_of(first, first_packs);
    after_ = part_of(second, second_packs);
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) send_for(i, i);
  }

  // The next row becomes this thread's row once arrive() was called for all groups or each in turn. Given is the row two further on.
  __device__ __forceinline__ void advance(const T* row, long long packs) {
    left_ = next_.left;
    next_ = after_;
    after_ = part_of(row, packs);
    if constexpr (EXTRA > 0) {
      place_ = after_place_;
      after_place_ = wrap(place_ + REGISTERS);
    }
  }
  __device__ __forceinline__ void arrive() {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) arrive(group);
  }
  __device__ __forceinline__ void arrive(int group) {
#pragma unroll
    for (int k = 0; k < kGroup; ++k) {
      const int i = group * kGroup + k;
      if (i < REGISTERS) {
        const int place = EXTRA > 0 ? wrap(place_ + i) : i;
        wait_for_copies<kPlaces - 1>();
        if (WHOLE || i * THREADS < left_) registers_[i] = (shared_ + place * kStep).template load<VEC>();
        send_for(i + EXTRA, place);
      }
    }
  }

  // Calls visitor(pack, column of its first element relative to that of this thread's first). The visitor may change the pack.
  template <typename Visitor>
  __device__ __forceinline__ void visit_group(int group, Visitor visitor) {
#pragma unroll
    for (int k = 0; k < kGroup; ++k) {
      const int i = group * kGroup + k;
      if (i < REGISTERS && (WHOLE || i * THREADS < left_)) visitor(registers_[i], static_cast<long long>(i * THREADS * VEC));
    }
  }
  template <typename Visitor>
  __device__ __forceinline__ void visit_kept(Visitor visitor) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) visit_group(group, visitor);
  }
  template <typename Visitor>
  __device__ __forceinline__ void visit_rest(Visitor) const {}
  template <typename Visitor>
  __device__ __forceinline__ void visit(Visitor visitor) {
    visit_kept(visitor);
  }

 private:
  struct part {
    const T* packs = nullptr;  // this thread's first one
    int left = 0;              // packs of the row from there on, no more than can be kept; 0 or less: it has none
  };
  __device__ __forceinline__ part part_of(const T* row, long long packs) const {
    constexpr long long kMost = REGISTERS * THREADS;
    return {row + static_cast<long long>(thread_) * VEC, static_cast<int>(packs - thread_ < kMost ? packs - thread_ : kMost)};
  }
  __device__ __forceinline__ static int wrap(int place) { return place < kPlaces ? place : place - kPlaces; }

  // `i` counts this thread's packs of the next row, and on through the row after it.
  __device__ __forceinline__ void send_for(int i, int place) {
    const part& row = i < REGISTERS ? next_ : after_;
    const int pack = (i < REGISTERS ? i : i - REGISTERS) * THREADS;
    if (WHOLE ? row.left > 0 : pack < row.left) copy_async<VEC * sizeof(T)>(shared_ + place * kStep, row.packs + pack * VEC);
    commit_copies();
  }

  static constexpr int kStep = BLOCK * VEC;  // elements from one of its places to the next
  shared_pointer<T> shared_;                 // this thread's first one
  int thread_;
  part next_;
  part after_;
  int place_ = 0;        // of the first pack of the row in registers
  int after_place_ = 0;  // of that of the next one
  int left_ = 0;         // as part::left, of the row in registers
  item registers_[REGISTERS];
};
