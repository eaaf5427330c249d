// A pointer into shared memory in the 32 bits that the hardware takes, to which constants are added for nothing. A generic pointer has 64,
// and around it the compiler computes the beginning of shared memory again and again: in a loop of 1000 multiply-adds that is felt.
#pragma once

#include "pack.cuh"

template <typename T>
class shared_pointer {
 public:
  // `p` leads to shared memory.
#ifdef TUNEBOOK_CPU
  __device__ __forceinline__ explicit shared_pointer(T* p) : at_(p) {}
  __device__ __forceinline__ shared_pointer operator+(int elements) const { return shared_pointer(at_ + elements); }
#else
  __device__ __forceinline__ explicit shared_pointer(T* p) : at_(static_cast<unsigned>(__cvta_generic_to_shared(p))) {
    asm volatile("" : "+r"(at_));  // kept, not computed again
  }
  __device__ __forceinline__ shared_pointer operator+(int elements) const {
    return shared_pointer(at_ + elements * static_cast<int>(sizeof(T)), 0);
  }
  __device__ __forceinline__ unsigned address() const { return at_; }
#endif

  // N neighbours, aligned to the pack.
  template <int N>
  __device__ __forceinline__ pack<T, N> load() const {
#ifdef TUNEBOOK_CPU
    return load_pack<N>(at_);
#else
    constexpr int kBytes = N * sizeof(T);
    constexpr int kStep = kBytes < 16 ? kBytes : 16;
    static_assert(kBytes % 4 == 0, "whole words");
    pack<T, N> value;
    unsigned words[kBytes / 4];
#pragma unroll
    for (int i = 0; i < kBytes; i += kStep) {
      unsigned* const w = words + i / 4;
      if constexpr (kStep == 16) {
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(at_ + i) : "memory");
      } else if constexpr (kStep == 8) {
        asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "r"(at_ + i) : "memory");
      } else {
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w[0]) : "r"(at_ + i) : "memory");
      }
    }
    memcpy(&value, words, kBytes);
    return value;
#endif
  }

  template <int N>
  __device__ __forceinline__ void store(const pack<T, N>& value) const {
#ifdef TUNEBOOK_CPU
    store_pack(at_, value);
#else
    constexpr int kBytes = N * sizeof(T);
    constexpr int kStep = kBytes < 16 ? kBytes : 16;
    static_assert(kBytes % 4 == 0, "whole words");
    unsigned words[kBytes / 4];
    memcpy(words, &value, kBytes);
#pragma unroll
    for (int i = 0; i < kBytes; i += kStep) {
      const unsigned* const w = words + i / 4;
      if constexpr (kStep == 16) {
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at_ + i), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
      } else if constexpr (kStep == 8) {
        asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(at_ + i), "r"(w[0]), "r"(w[1]) : "memory");
      } else {
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(at_ + i), "r"(w[0]) : "memory");
      }
    }
#endif
  }

#ifdef TUNEBOOK_CPU
  __device__ __forceinline__ T* address() const { return at_; }

 private:
  T* at_;
#else
 private:
  __device__ __forceinline__ shared_pointer(unsigned at, int) : at_(at) {}
  unsigned at_;
#endif
};
