// Copies from global to shared memory that pass no registers and do not hold up the thread (cp.async, sm_80 and newer).
//
// A thread's copies belong to the group that its next commit_copies() closes; wait_for_copies<N>() returns when all but the
// thread's N latest groups have landed. Other threads see them after a __syncthreads() behind that.
// On the cpu device a copy is done at once, which is one of the orders that the GPU's rules allow.
#pragma once

#include "shared_pointer.cuh"

#ifdef TUNEBOOK_CPU
template <int BYTES>
__device__ __forceinline__ void copy_async_to(void* shared, const void* global, bool valid) {
  for (int i = 0; i < BYTES; ++i) {
    static_cast<char*>(shared)[i] = valid ? static_cast<const char*>(global)[i] : 0;
  }
}
#else
template <int BYTES>
__device__ __forceinline__ void copy_async_to(unsigned shared, const void* global, bool valid) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
  const int source_bytes = valid ? BYTES : 0;  // what is missing up to BYTES is filled with zeros
  if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(source_bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(global), "n"(BYTES), "r"(source_bytes) : "memory");
  }
}
#endif

// BYTES from `global` to `shared`, or zeros where `valid` is false: `global` is then not read, and may point anywhere.
// Both must be aligned to BYTES (4, 8 or 16). 16 bytes go past L1, which the shorter ones cannot.
template <int BYTES>
__device__ __forceinline__ void copy_async(void* shared, const void* global, bool valid = true) {
#ifdef TUNEBOOK_CPU
  copy_async_to<BYTES>(shared, global, valid);
#else
  copy_async_to<BYTES>(static_cast<unsigned>(__cvta_generic_to_shared(shared)), global, valid);
#endif
}
template <int BYTES, typename T>
__device__ __forceinline__ void copy_async(shared_pointer<T> shared, const void* global, bool valid = true) {
  copy_async_to<BYTES>(shared.address(), global, valid);
}

__device__ __forceinline__ void commit_copies() {
#ifndef TUNEBOOK_CPU
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int N>
__device__ __forceinline__ void wait_for_copies() {
  static_assert(N >= 0, "the number of groups that may still be on their way");
#ifndef TUNEBOOK_CPU
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}
