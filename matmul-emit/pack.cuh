// N neighbouring elements that are moved together: by one instruction up to 16 bytes, by several where they are more.
#pragma once

template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) pack {
  T element[N];
};

// `p` must be aligned to the pack.
template <int N, typename T>
__device__ __forceinline__ pack<T, N> load_pack(const T* p) {
  return *reinterpret_cast<const pack<T, N>*>(p);
}

template <typename T, int N>
__device__ __forceinline__ void store_pack(T* p, const pack<T, N>& value) {
  *reinterpret_cast<pack<T, N>*>(p) = value;
}

// The same to global memory by one instruction: the compiler takes a store apart where it loses sight of the alignment, as behind long loops.
template <typename T, int N>
__device__ __forceinline__ void store_pack_global(T* p, const pack<T, N>& value) {
#ifndef TUNEBOOK_CPU
  if constexpr (sizeof(value) == 16) {
    unsigned words[4];
    memcpy(words, &value, sizeof(value));
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)), "r"(words[0]), "r"(words[1]), "r"(words[2]),
                 "r"(words[3]) : "memory");
    return;
  } else if constexpr (sizeof(value) == 8) {
    unsigned words[2];
    memcpy(words, &value, sizeof(value));
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), "r"(words[0]), "r"(words[1]) : "memory");
    return;
  }
#endif
  store_pack(p, value);
}
