#pragma once

// Asynchronous copies to shared memory, done at once.
__forceinline__ void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zero_fill = 0) {
  __builtin_memcpy(to, from, bytes - zero_fill);
  __builtin_memset(static_cast<char*>(to) + (bytes - zero_fill), 0, zero_fill);
}
__forceinline__ void __pipeline_commit() {}
__forceinline__ void __pipeline_wait_prior(size_t) {}
