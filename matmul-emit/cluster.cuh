// Thread block clusters (sm_90 and newer): the blocks of a cluster run at the same time and write to each other's shared memory.
// The cpu device runs no clusters; there these functions exist only so that the source compiles.
#pragma once

__device__ __forceinline__ int cluster_rank() {  // of this block in its cluster
  unsigned rank = 0;
#ifndef TUNEBOOK_CPU
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return static_cast<int>(rank);
}

// A barrier of all threads of the cluster in two halves. What was written before arriving is seen after waiting.
__device__ __forceinline__ void cluster_arrive() {
#ifndef TUNEBOOK_CPU
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_wait() {
#ifndef TUNEBOOK_CPU
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Writes to the place in the shared memory of block `rank` that `local` has in this block's. That block must have started.
template <typename T>
__device__ __forceinline__ void store_to_block(T* local, int rank, T value) {
  static_assert(sizeof(T) % 4 == 0, "whole words");
#ifndef TUNEBOOK_CPU
  unsigned words[sizeof(T) / 4];
  memcpy(words, &value, sizeof(T));
  const unsigned here = static_cast<unsigned>(__cvta_generic_to_shared(local));
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there + 4 * i), "r"(words[i]) : "memory");
  }
#endif
}

// Reads what block `rank` has in its shared memory where `local` is in this block's. It must have arrived after it wrote, and must not leave
// before the reader has arrived in turn.
template <typename T>
__device__ __forceinline__ T load_from_block(const T* local, int rank) {
  static_assert(sizeof(T) % 4 == 0, "whole words");
  T value{};
#ifndef TUNEBOOK_CPU
  unsigned words[sizeof(T) / 4];
  const unsigned here = static_cast<unsigned>(__cvta_generic_to_shared(local));
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  if constexpr (sizeof(T) == 16) {
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(there) : "memory");
  } else {
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i) {
      asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(words[i]) : "r"(there + 4 * i) : "memory");
    }
  }
  memcpy(&value, words, sizeof(T));
#endif
  return value;
}

// Reduces one value per block; every thread of the cluster gives its block's and gets the result, the same to the last bit.
// `partial` is shared memory, one T per block of the cluster, for this call only: nobody waits until all have read theirs.
template <int BLOCKS, typename T, typename Op>
__device__ __forceinline__ T cluster_reduce(T value, Op op, T* partial) {
  if (threadIdx.x < BLOCKS) store_to_block(partial + cluster_rank(), static_cast<int>(threadIdx.x), value);
  cluster_arrive();
  cluster_wait();
  T result = partial[0];
#pragma unroll
  for (int i = 1; i < BLOCKS; ++i) result = op(result, partial[i]);
  return result;
}
