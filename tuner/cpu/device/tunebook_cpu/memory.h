#pragma once

// Loads and stores with cache hints (plain ones here), fences, address spaces.

template <class T>
__forceinline__ T __ldg(const T* p) { return *p; }
template <class T>
__forceinline__ T __ldcg(const T* p) { return *p; }
template <class T>
__forceinline__ T __ldca(const T* p) { return *p; }
template <class T>
__forceinline__ T __ldcs(const T* p) { return *p; }
template <class T>
__forceinline__ T __ldlu(const T* p) { return *p; }
template <class T>
__forceinline__ T __ldcv(const T* p) { return *p; }
template <class T>
__forceinline__ void __stwb(T* p, T value) { *p = value; }
template <class T>
__forceinline__ void __stcg(T* p, T value) { *p = value; }
template <class T>
__forceinline__ void __stcs(T* p, T value) { *p = value; }
template <class T>
__forceinline__ void __stwt(T* p, T value) { *p = value; }

__forceinline__ void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__forceinline__ void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__forceinline__ void __threadfence_block() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }  // a block runs on one OS thread

__forceinline__ size_t __cvta_generic_to_shared(const void* p) { return reinterpret_cast<size_t>(p); }
__forceinline__ size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<size_t>(p); }

__forceinline__ void* memcpy(void* to, const void* from, size_t bytes) { return __builtin_memcpy(to, from, bytes); }
__forceinline__ void* memset(void* to, int value, size_t bytes) { return __builtin_memset(to, value, bytes); }
