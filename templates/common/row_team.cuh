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
    if constexpr (BLOCKS > 1) cluster_arrive();
  }

  // This thread's row, which may lie behind the last one, and the thread's number in it.
  __device__ __forceinline__ long long row() const {
    return static_cast<long long>(blockIdx.x / BLOCKS) * ROWS + threadIdx.x / THREADS;
  }
  __device__ __forceinline__ int thread() const {
    return (BLOCKS > 1 ? cluster_rank() * THREADS : 0) + static_cast<int>(threadIdx.x) % THREADS;
  }

  // To be called once by all threads before the first reduce(): the blocks of a cluster write to each other's shared memory then, which
  // they may do only when all have started. Loads that were begun before are on their way meanwhile.
  __device__ __forceinline__ void wait_for_start() const {
    if constexpr (BLOCKS > 1) cluster_wait();
  }

  // Reduces one value per thread over the row; all threads of the block (the cluster) call it together and get the row's result. Each call
  // in a kernel has a CALL of its own, and with it its own shared memory: no barrier is needed between one call and the next.
  template <int CALL, typename T, typename Op>
  __device__ __forceinline__ T reduce(T value, Op op) const {
    __shared__ T warp_partial[(kBlockThreads + 31) / 32];
    value = group_reduce<THREADS>(value, op, warp_partial);
    if constexpr (BLOCKS > 1) {
      __shared__ T block_partial[BLOCKS];
      value = cluster_reduce<BLOCKS>(value, op, block_partial);
    }
    return value;
  }
};
