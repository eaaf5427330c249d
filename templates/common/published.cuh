// Values that one block hands to another while both run.
//
// A value is published 32 bits at a time, each in a 64-bit word together with a tag, so that no fence is needed: a word is read and
// written in one piece, and a value is there when all its words have the same tag. The words are zero before; who has read them for
// the last time makes them zero again.
#pragma once

// Relaxed accesses that other blocks see, each in one piece.
__device__ __forceinline__ unsigned long long load_word(const unsigned long long* word) {
#ifdef TUNEBOOK_CPU
  return *static_cast<const volatile unsigned long long*>(word);
#else
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
#endif
}
__device__ __forceinline__ void store_word(unsigned long long* word, unsigned long long value) {
#ifdef TUNEBOOK_CPU
  *static_cast<volatile unsigned long long*>(word) = value;
#else
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
#endif
}

template <typename Value>
struct published {
  static_assert(sizeof(Value) % 4 == 0, "whole halves of words");
  static constexpr int kWords = sizeof(Value) / 4;
  unsigned tag;  // 0: not there, or not all of it
  Value value;

  static __device__ __forceinline__ published read(const unsigned long long* values, long long at) {
    unsigned halves[kWords];
    published out;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      const unsigned long long word = load_word(values + at * kWords + i);
      halves[i] = static_cast<unsigned>(word);
      const auto tag = static_cast<unsigned>(word >> 32);
      out.tag = i == 0 || out.tag == tag ? tag : 0;
    }
    memcpy(&out.value, halves, sizeof(Value));
    return out;
  }

  static __device__ __forceinline__ void write(unsigned long long* values, long long at, unsigned tag, const Value& value) {
    unsigned halves[kWords];
    memcpy(halves, &value, sizeof(Value));
#pragma unroll
    for (int i = 0; i < kWords; ++i) store_word(values + at * kWords + i, static_cast<unsigned long long>(tag) << 32 | halves[i]);
  }

  // Waits for it, at least `delay` nanoseconds between two looks.
  static __device__ __forceinline__ Value wait(const unsigned long long* values, long long at, unsigned delay) {
    published seen = read(values, at);
    while (seen.tag == 0) {
      __nanosleep(delay);
      seen = read(values, at);
    }
    return seen.value;
  }

  static __device__ __forceinline__ void clear(unsigned long long* values, long long at) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) values[at * kWords + i] = 0;
  }
};
