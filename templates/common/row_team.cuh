// The threads that share a row: THREADS of each of BLOCKS blocks, which are a cluster if there is more than one. A block has ROWS such
// groups of threads side by side; a cluster has one row.
#pragma once

#include "cluster.cuh"
#include "warp_reduce.cuh"

template <int THREADS, int ROWS, int BLOCKS>
class row_team {
 public:
  static_assert(BLOCKS == 1 || ROWS == 1, "a cluster has one row");
  static constexpr int kThreads = THREADS * BLOCKS;     // of a row
  static constexpr int kBlockThreads = THREADS * ROWS;

  __device__ __forceinline__ row_team() {
    if constexpr (BLOCKS > 1) {
      if (threadIdx.x == 0) prepare_mailboxes(mailboxes(), kMailboxes);
      cluster_arrive_prepared();
    }
  }

  // This thread's (first) row, which may lie behind the last one, how many rows all teams have at a time, and the thread's number in a row.
  __device__ __forceinline__ long long row() const {
    return static_cast<long long>(blockIdx.x / BLOCKS) * ROWS + threadIdx.x / THREADS;
  }
  __device__ __forceinline__ long long rows_at_a_time() const { return static_cast<long long>(gridDim.x / BLOCKS) * ROWS; }
  __device__ __forceinline__ int thread() const {
    return (BLOCKS > 1 ? cluster_rank() * THREADS : 0) + static_cast<int>(threadIdx.x) % THREADS;
  }

  // To be called once by all threads before the first reduce(): the blocks of a cluster send to each other's shared memory then, which
  // they may do only when all have started. Loads that were begun before are on their way meanwhile.
  __device__ __forceinline__ void wait_for_start() const {
    if constexpr (BLOCKS > 1) cluster_wait();
  }

  // Reduces one value per thread over the row; all threads of the block (the cluster) call it together and get the row's result. Each call
  // in a kernel has a CALL of its own, and with it its own shared memory: no barrier is needed between one call and the next. Nor is it
  // where the same call comes again for the `turn`-th row: it takes other memory than the last time, and who is there for the second time
  // since has passed a barrier that all reached after they had read.
  template <int CALL, typename T, typename Op>
  __device__ __forceinline__ T reduce(T value, Op op, int turn = 0) const {
    static_assert(CALL < kMailboxes / 2, "a call of its own");
    __shared__ T warp_partial[2][(kBlockThreads + 31) / 32];
    value = group_reduce<THREADS>(value, op, warp_partial[turn % 2]);
    if constexpr (BLOCKS > 1) {
      __shared__ T block_partial[2][BLOCKS];
      value = cluster_reduce<BLOCKS>(value, op, block_partial[turn % 2], mailboxes() + 2 * CALL + turn % 2, turn / 2 % 2);
    }
    return value;
  }

 private:
  static constexpr int kMailboxes = 4;  // two for each of two calls
  __device__ __forceinline__ static unsigned long long* mailboxes() {
    __shared__ unsigned long long boxes[kMailboxes];
    return boxes;
  }
};
