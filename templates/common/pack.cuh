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
