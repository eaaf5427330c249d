#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <cuda_runtime_api.h>

#include "cuda/cuda_error.h"
#include "cuda/device_kernels.h"

namespace tunebook {

// Device memory, owned. Throws CudaError (cudaErrorMemoryAllocation) if there is not enough.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes) { check_cuda(cudaMalloc(&pointer_, bytes == 0 ? 1 : bytes), "allocating device memory"); }
  ~DeviceMemory() { TUNEBOOK_REPORT_CUDA(cudaFree(pointer_)); }
  DeviceMemory(DeviceMemory&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  void* get() const { return pointer_; }

 private:
  void* pointer_ = nullptr;
};

// Page-locked host memory, owned.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  explicit PinnedMemory(std::size_t bytes) {
    check_cuda(cudaHostAlloc(&pointer_, bytes == 0 ? 1 : bytes, cudaHostAllocDefault), "allocating page-locked memory");
  }
  ~PinnedMemory() { TUNEBOOK_REPORT_CUDA(cudaFreeHost(pointer_)); }
  PinnedMemory(PinnedMemory&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  void* get() const { return pointer_; }

 private:
  void* pointer_ = nullptr;
};

// Whether buffers have no guard bands, because the process runs under compute-sanitizer (the session then sets this variable): it
// knows the end of each allocation to the byte, and guard bands would hide what is read just outside of a buffer.
inline bool exact_buffers() {
  static const bool exact = std::getenv("TUNEBOOK_EXACT_BUFFERS") != nullptr;
  return exact;
}

// A buffer as a kernel sees it, with guard bands: the payload starts at a multiple of 256 bytes, and the guard begins with the byte
// after its last one.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  explicit GuardedBuffer(std::size_t bytes) : memory_(exact_buffers() ? bytes : bytes + 2 * kGuardBytes), bytes_(bytes) {}
  void* payload() const { return static_cast<unsigned char*>(memory_.get()) + (exact_buffers() ? 0 : kGuardBytes); }
  std::size_t bytes() const { return bytes_; }
  GuardedRange range() const { return {static_cast<unsigned char*>(payload()), bytes_}; }

 private:
  DeviceMemory memory_;
  std::size_t bytes_ = 0;
};

// A stream, owned.
class Stream {
 public:
  Stream() { check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
  ~Stream() { TUNEBOOK_REPORT_CUDA(cudaStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// An event with a time stamp, owned.
class Event {
 public:
  Event() { check_cuda(cudaEventCreate(&event_), "creating an event"); }
  ~Event() {
    if (event_ != nullptr) TUNEBOOK_REPORT_CUDA(cudaEventDestroy(event_));
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace tunebook
