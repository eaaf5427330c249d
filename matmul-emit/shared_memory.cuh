// The dynamic shared memory of a block, from its beginning; 16-byte aligned.
#pragma once

template <typename T>
__device__ __forceinline__ T* shared_memory() {
  extern __shared__ __align__(16) unsigned char bytes[];
  return reinterpret_cast<T*>(bytes);
}
