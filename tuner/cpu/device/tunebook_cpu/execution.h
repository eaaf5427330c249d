#pragma once

// Indices, barriers, shared memory, traps.

namespace tunebook_cpu {

__forceinline__ uint3 thread_index() { return {tunebook_cpu_thread_x, tunebook_cpu_thread_y, tunebook_cpu_thread_z}; }
__forceinline__ uint3 block_index() { return {tunebook_cpu_block_x, tunebook_cpu_block_y, tunebook_cpu_block_z}; }
__forceinline__ dim3 block_dimensions() {
  return dim3(tunebook_cpu_block_dim_x, tunebook_cpu_block_dim_y, tunebook_cpu_block_dim_z);
}
__forceinline__ dim3 grid_dimensions() {
  return dim3(tunebook_cpu_grid_dim_x, tunebook_cpu_grid_dim_y, tunebook_cpu_grid_dim_z);
}

// Static __shared__ declarations become a local struct S (see the worker's source rewriter); each S has its place in the
// block's storage, given out when the kernel is loaded.
template <class S>
struct SharedSlot {
  static unsigned offset;
};
template <class S>
unsigned SharedSlot<S>::offset = tunebook_cpu_reserve_shared(sizeof(S), alignof(S));

template <class S>
__forceinline__ S& static_shared() {
  return *reinterpret_cast<S*>(__builtin_assume_aligned(tunebook_cpu_static_shared + SharedSlot<S>::offset, alignof(S)));
}

template <class T>
__forceinline__ T* dynamic_shared() {
  return reinterpret_cast<T*>(__builtin_assume_aligned(tunebook_cpu_dynamic_shared, 64));
}

__forceinline__ int sync_all(int predicate, const char* file, int line) {
  int all;
  tunebook_cpu_sync_threads(predicate, &all, file, line);
  return all;
}

}  // namespace tunebook_cpu

// Macros, because only a constant read afresh each time is known by the compiler not to change under it.
#define threadIdx (::tunebook_cpu::thread_index())
#define blockIdx (::tunebook_cpu::block_index())
#define blockDim (::tunebook_cpu::block_dimensions())
#define gridDim (::tunebook_cpu::grid_dimensions())
constexpr int warpSize = 32;

__forceinline__ void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  int all;
  tunebook_cpu_sync_threads(0, &all, file, line);
}
__forceinline__ int __syncthreads_count(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  int all;
  return tunebook_cpu_sync_threads(predicate, &all, file, line);
}
__forceinline__ int __syncthreads_and(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return tunebook_cpu::sync_all(predicate, file, line);
}
__forceinline__ int __syncthreads_or(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  int all;
  return tunebook_cpu_sync_threads(predicate, &all, file, line) != 0;
}

__forceinline__ void __trap(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  tunebook_cpu_trap("__trap()", file, line);
}
#define assert(condition) \
  ((condition) ? static_cast<void>(0) : tunebook_cpu_trap("assertion `" #condition "` failed", __FILE__, __LINE__))

extern "C" int printf(const char* format, ...) __attribute__((format(printf, 1, 2)));

__forceinline__ long long clock64() { return static_cast<long long>(__builtin_ia32_rdtsc()); }
__forceinline__ long clock() { return static_cast<long>(clock64()); }
__forceinline__ void __nanosleep(unsigned) { tunebook_cpu_spin(); }
