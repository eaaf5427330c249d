// Rows that the same threads work on one after the other: while one is in registers, the next is on its way to shared memory.
//
// Packs belong to threads as in row.cuh, REGISTERS of them to each thread at most: longer rows are not for this. A thread reads from shared
// memory only what it had copied there itself, and sends for the pack of the next row as soon as it has read: no barrier is needed, and
// memory is kept busy while the row is reduced and written.
#pragma once

#include "async_copy.cuh"
#include "pack.cuh"

// BLOCK: threads of the block.
template <typename T, int VEC, int THREADS, int REGISTERS, int BLOCK>
class row_queue {
 public:
  using item = pack<T, VEC>;
  static constexpr int kGroup = REGISTERS < 4 ? REGISTERS : 4;  // packs that arrive together
  static constexpr int kGroups = (REGISTERS + kGroup - 1) / kGroup;

  // `thread` is this one's number among THREADS. `shared` has room for REGISTERS * BLOCK packs of the whole block.
  __device__ __forceinline__ row_queue(int thread, item* shared) : shared_(shared + threadIdx.x), thread_(thread) {}

  // Starts the reading of the first row. As in row_slice `row` is aligned to a pack and has `packs` of them: 0 for one behind the last.
  __device__ __forceinline__ void begin(const T* row, long long packs) {
    set_next(row, packs);
#pragma unroll
    for (int i = 0; i < REGISTERS; ++i) send_for(i);
  }

  // The row that was sent for becomes this thread's row once arrive() was called for all groups or each in turn; the next one is sent for meanwhile.
  __device__ __forceinline__ void advance(const T* next_row, long long packs) {
    left_ = next_left_;
    set_next(next_row, packs);
  }
  __device__ __forceinline__ void arrive(int group) {
#pragma unroll
    for (int k = 0; k < kGroup; ++k) {
      const int i = group * kGroup + k;
      if (i < REGISTERS) {
        wait_for_copies<REGISTERS - 1>();
        if (i * THREADS < left_) registers_[i] = shared_[i * BLOCK];
        send_for(i);
      }
    }
  }

  __device__ __forceinline__ void arrive() {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) arrive(group);
  }

  // Calls visitor(pack, column of its first element relative to that of this thread's first). The visitor may change the pack.
  template <typename Visitor>
  __device__ __forceinline__ void visit_group(int group, Visitor visitor) {
#pragma unroll
    for (int k = 0; k < kGroup; ++k) {
      const int i = group * kGroup + k;
      if (i < REGISTERS && i * THREADS < left_) visitor(registers_[i], static_cast<long long>(i * THREADS * VEC));
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
  __device__ __forceinline__ void set_next(const T* row, long long packs) {
    constexpr long long kMost = REGISTERS * THREADS;
    next_ = row + static_cast<long long>(thread_) * VEC;
    next_left_ = static_cast<int>(packs - thread_ < kMost ? packs - thread_ : kMost);
  }
  __device__ __forceinline__ void send_for(int i) {
    if (i * THREADS < next_left_) copy_async<VEC * sizeof(T)>(shared_ + i * BLOCK, next_ + i * THREADS * VEC);
    commit_copies();
  }

  item* shared_;  // this thread's first place
  int thread_;
  const T* next_ = nullptr;  // its first pack of the row that is on its way
  int next_left_ = 0;        // packs of that row from there on; 0 or less: it has none
  int left_ = 0;             // the same of the row in registers
  item registers_[REGISTERS];
};
