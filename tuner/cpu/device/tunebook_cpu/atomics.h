#pragma once

// Atomic functions. They are real atomics, because blocks run on several OS threads. A thread that does very many is
// probably spinning on one and lets others run from time to time.

namespace tunebook_cpu {

__forceinline__ void count_atomic() {
  if (--tunebook_cpu_atomic_budget == 0) tunebook_cpu_spin();
}

template <int kBytes>
struct BitsOf;
template <>
struct BitsOf<2> { typedef unsigned short type; };
template <>
struct BitsOf<4> { typedef unsigned type; };
template <>
struct BitsOf<8> { typedef unsigned long long type; };

// old = *p; *p = change(old), as one step, for types that have no such instruction.
template <class T, class Change>
__forceinline__ T atomic_update(T* p, Change change) {
  typedef typename BitsOf<sizeof(T)>::type Bits;
  count_atomic();
  Bits* const bits = reinterpret_cast<Bits*>(p);
  Bits old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(bits, &old, bit_cast<Bits>(change(bit_cast<T>(old))), true, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
  }
  return bit_cast<T>(old);
}

}  // namespace tunebook_cpu

#define TUNEBOOK_ATOMIC_INTEGER(T)                                                                                \
  __forceinline__ T atomicAdd(T* p, T v) {                                                                        \
    tunebook_cpu::count_atomic();                                                                                 \
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                                            \
  }                                                                                                               \
  __forceinline__ T atomicSub(T* p, T v) {                                                                        \
    tunebook_cpu::count_atomic();                                                                                 \
    return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);                                                            \
  }                                                                                                               \
  __forceinline__ T atomicExch(T* p, T v) {                                                                       \
    tunebook_cpu::count_atomic();                                                                                 \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                                           \
  }                                                                                                               \
  __forceinline__ T atomicAnd(T* p, T v) {                                                                        \
    tunebook_cpu::count_atomic();                                                                                 \
    return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);                                                            \
  }                                                                                                               \
  __forceinline__ T atomicOr(T* p, T v) {                                                                         \
    tunebook_cpu::count_atomic();                                                                                 \
    return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);                                                             \
  }                                                                                                               \
  __forceinline__ T atomicXor(T* p, T v) {                                                                        \
    tunebook_cpu::count_atomic();                                                                                 \
    return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);                                                            \
  }                                                                                                               \
  __forceinline__ T atomicCAS(T* p, T expected, T desired) {                                                      \
    tunebook_cpu::count_atomic();                                                                                 \
    __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                \
    return expected;                                                                                              \
  }                                                                                                               \
  __forceinline__ T atomicMax(T* p, T v) {                                                                        \
    return tunebook_cpu::atomic_update(p, [v](T old) { return old < v ? v : old; });                              \
  }                                                                                                               \
  __forceinline__ T atomicMin(T* p, T v) {                                                                        \
    return tunebook_cpu::atomic_update(p, [v](T old) { return v < old ? v : old; });                              \
  }
TUNEBOOK_ATOMIC_INTEGER(int)
TUNEBOOK_ATOMIC_INTEGER(unsigned)
TUNEBOOK_ATOMIC_INTEGER(long long)
TUNEBOOK_ATOMIC_INTEGER(unsigned long long)
TUNEBOOK_ATOMIC_INTEGER(unsigned long)
#undef TUNEBOOK_ATOMIC_INTEGER

__forceinline__ unsigned short atomicCAS(unsigned short* p, unsigned short expected, unsigned short desired) {
  tunebook_cpu::count_atomic();
  __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}
__forceinline__ float atomicAdd(float* p, float v) {
  return tunebook_cpu::atomic_update(p, [v](float old) { return old + v; });
}
__forceinline__ double atomicAdd(double* p, double v) {
  return tunebook_cpu::atomic_update(p, [v](double old) { return old + v; });
}
__forceinline__ float atomicExch(float* p, float v) {
  return tunebook_cpu::atomic_update(p, [v](float) { return v; });
}
__forceinline__ unsigned atomicInc(unsigned* p, unsigned limit) {
  return tunebook_cpu::atomic_update(p, [limit](unsigned old) { return old >= limit ? 0u : old + 1u; });
}
__forceinline__ unsigned atomicDec(unsigned* p, unsigned limit) {
  return tunebook_cpu::atomic_update(p, [limit](unsigned old) { return old == 0 || old > limit ? limit : old - 1u; });
}

// The same within a block or a system.
#define TUNEBOOK_ATOMIC_SCOPES(name)                                                            \
  template <class... A>                                                                         \
  __forceinline__ auto name##_block(A... a) { return name(a...); }                              \
  template <class... A>                                                                         \
  __forceinline__ auto name##_system(A... a) { return name(a...); }
TUNEBOOK_ATOMIC_SCOPES(atomicAdd)
TUNEBOOK_ATOMIC_SCOPES(atomicMax)
TUNEBOOK_ATOMIC_SCOPES(atomicMin)
TUNEBOOK_ATOMIC_SCOPES(atomicExch)
TUNEBOOK_ATOMIC_SCOPES(atomicCAS)
TUNEBOOK_ATOMIC_SCOPES(atomicOr)
TUNEBOOK_ATOMIC_SCOPES(atomicAnd)
#undef TUNEBOOK_ATOMIC_SCOPES
