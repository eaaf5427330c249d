// Rows of a matrix that are read more than once: the part of a row that one thread works on.
//
// A row is a sequence of packs of VEC elements, and the THREADS threads that share it take them in turn: pack p belongs to thread
// p % THREADS, so that neighbours read neighbours. Of its packs a thread keeps the first REGISTERS in registers and the next SHARED
// in shared memory; those that remain it reads again in every pass, which L2 answers as long as the rows in flight fit there.
// A thread needs no barrier for what it keeps in shared memory: it reads its own packs only.
#pragma once

#include "async_copy.cuh"
#include "pack.cuh"

// BLOCK: threads of the block. UNROLL: packs that are on their way together where they are read again.
template <typename T, int VEC, int THREADS, int REGISTERS, int SHARED, int UNROLL, int BLOCK>
class row_slice {
 public:
  using item = pack<T, VEC>;
  static constexpr int kGroups = 1;  // of the packs that are kept (see row_queue.cuh)

  // `row` is aligned to a pack and has `packs` of them: 0 for a row behind the last one. `thread` is this one's number among THREADS.
  // `shared` has room for SHARED * BLOCK packs of the whole block.
  __device__ __forceinline__ row_slice(const T* row, long long packs, int thread, item* shared)
      : row_(row + static_cast<long long>(thread) * VEC), shared_(shared + threadIdx.x), left_(packs - thread) {
    constexpr int kMost = (REGISTERS + SHARED) * THREADS;
    left_held_ = left_ < kMost ? static_cast<int>(left_) : kMost;
  }

  // Starts the reading of what is kept. Call it once, before visit().
  __device__ __forceinline__ void hold() {
    if constexpr (SHARED > 0) {
#pragma unroll
      for (int i = 0; i < SHARED; ++i) {
        const int pack = (REGISTERS + i) * THREADS;
        if (pack < left_held_) copy_async<VEC * sizeof(T)>(shared_ + i * BLOCK, row_ + pack * VEC);
      }
      commit_copies();
    }
#pragma unroll
    for (int i = 0; i < REGISTERS; ++i) {
      if (i * THREADS < left_held_) registers_[i] = load_pack<VEC>(row_ + i * THREADS * VEC);
    }
  }

  // Calls visitor(pack, column of its first element relative to that of this thread's first) for each pack that is kept. The visitor may
  // change the pack: it is kept as it then is.
  template <typename Visitor>
  __device__ __forceinline__ void visit_kept(Visitor visitor) {
#pragma unroll
    for (int i = 0; i < REGISTERS; ++i) {
      if (i * THREADS < left_held_) visitor(registers_[i], static_cast<long long>(i * THREADS * VEC));
    }
    if constexpr (SHARED > 0) {
      wait_for_copies<0>();
#pragma unroll
      for (int i = 0; i < SHARED; ++i) {
        const int pack = (REGISTERS + i) * THREADS;
        if (pack < left_held_) visitor(shared_[i * BLOCK], static_cast<long long>(pack * VEC));
      }
    }
  }

  __device__ __forceinline__ void arrive() {}
  __device__ __forceinline__ void arrive(int) {}
  template <typename Visitor>
  __device__ __forceinline__ void visit_group(int, Visitor visitor) {
    visit_kept(visitor);
  }

  // The same for each other pack of this thread, read once more.
  template <typename Visitor>
  __device__ __forceinline__ void visit_rest(Visitor visitor) const {
    long long pack = (REGISTERS + SHARED) * THREADS;
    if constexpr (UNROLL > 1) {
#pragma unroll 1
      for (; pack + (UNROLL - 1) * THREADS < left_; pack += UNROLL * THREADS) {
        item batch[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) batch[i] = load_pack<VEC>(row_ + (pack + i * THREADS) * VEC);
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) visitor(batch[i], (pack + i * THREADS) * VEC);
      }
    }
#pragma unroll 1
    for (; pack < left_; pack += THREADS) {
      const item last = load_pack<VEC>(row_ + pack * VEC);
      visitor(last, pack * VEC);
    }
  }

  template <typename Visitor>
  __device__ __forceinline__ void visit(Visitor visitor) {
    visit_kept(visitor);
    visit_rest(visitor);
  }

 private:
  const T* row_;        // this thread's first pack
  item* shared_;        // this thread's first place
  long long left_;      // packs of the row from this thread's first one on; 0 or less: it has none
  int left_held_;       // the same, but no more than can be kept: 32 bits make cheap comparisons
  item registers_[REGISTERS > 0 ? REGISTERS : 1];
};
