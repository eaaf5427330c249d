// Thread block clusters (sm_90 and newer): the blocks of a cluster run at the same time and write to each other's shared memory.
// The cpu device runs no clusters; there these functions exist only so that the source compiles.
#pragma once

#include "warp_reduce.cuh"

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

// Sending. A mailbox in shared memory, 64 bits, tells the threads of its block when what other blocks send to it is there. Each of its phases
// takes a number of bytes, and ends when they have come: nobody waits for what a block still writes to global memory, as a barrier of the
// cluster does.
//
// Prepares `count` mailboxes; by one thread. No block may send before all have passed cluster_wait() after cluster_arrive_prepared().
__device__ __forceinline__ void prepare_mailboxes(unsigned long long* mailboxes, int count) {
#ifndef TUNEBOOK_CPU
  for (int i = 0; i < count; ++i) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(mailboxes + i))) : "memory");
  }
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
// Arrives as cluster_arrive() does, but of what was written only the prepared mailboxes are sure to be seen: no write is waited for.
__device__ __forceinline__ void cluster_arrive_prepared() {
#ifndef TUNEBOOK_CPU
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

// How many bytes the mailbox's phase takes: by one thread of the block, once in each phase, before or after they come.
__device__ __forceinline__ void expect_bytes(unsigned long long* mailbox, int bytes) {
#ifndef TUNEBOOK_CPU
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(mailbox))), "r"(bytes) : "memory");
#endif
}
// Returns when the phase has ended; `parity` is 0 for the first phase, then 1 and 0 in turn. What was sent is then seen.
__device__ __forceinline__ void wait_for_mail(unsigned long long* mailbox, int parity) {
#ifndef TUNEBOOK_CPU
  const unsigned here = static_cast<unsigned>(__cvta_generic_to_shared(mailbox));
  unsigned done = 0;
  while (!done) {
    asm volatile("{ .reg .pred ended; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%1], %2; selp.u32 %0, 1, 0, ended; }"
                 : "=r"(done) : "r"(here), "r"(parity) : "memory");
  }
#endif
}
// Sends to block `rank`: to the place and the mailbox that `local` and `mailbox` are in this block.
template <typename T>
__device__ __forceinline__ void send_to_block(T* local, unsigned long long* mailbox, int rank, T value) {
  static_assert(sizeof(T) % 4 == 0, "whole words");
#ifndef TUNEBOOK_CPU
  unsigned words[sizeof(T) / 4];
  memcpy(words, &value, sizeof(T));
  unsigned place, box;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"(static_cast<unsigned>(__cvta_generic_to_shared(local))), "r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(box) : "r"(static_cast<unsigned>(__cvta_generic_to_shared(mailbox))), "r"(rank));
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(place + 4 * i), "r"(words[i]), "r"(box)
                 : "memory");
  }
#endif
}

// Reduces one value per block; every thread of the cluster, of whole warps, gives its block's and gets the result, the same to the last bit.
// `partial` is shared memory, one T per block of the cluster. It and `mailbox`, whose phase this is, may be used again when all blocks have
// reduced by other ones in between: who is that far has sent again after all threads of its block had read.
template <int BLOCKS, typename T, typename Op>
__device__ __forceinline__ T cluster_reduce(T value, Op op, T* partial, unsigned long long* mailbox, int parity) {
  if (threadIdx.x == 0) expect_bytes(mailbox, BLOCKS * static_cast<int>(sizeof(T)));
  if (threadIdx.x < BLOCKS) send_to_block(partial + cluster_rank(), mailbox, static_cast<int>(threadIdx.x), value);
  wait_for_mail(mailbox, parity);
  return warp_reduce<BLOCKS>(partial[threadIdx.x % BLOCKS], op);
}
