#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>

#include "cuda/device_memory.h"

namespace tunebook {

// Further copies of a problem's buffers, on which the launches of one batch work in turn, so that each finds its data outside of L2.
// Made when first asked for and kept; their memory is capped.
class BufferCopies {
 public:
  // One pointer argument: where its contents are (null: they are of no interest, as with outputs, and the copy is zeroed).
  struct Source {
    std::size_t bytes = 0;
    const void* contents = nullptr;
  };

  // Copies together may take this share of what was free on the device when the first was made.
  static constexpr double kMostOfFreeMemory = 0.25;

  // Tries to have `wanted` copies; returns how many there are now, fewer if memory is short. Queues the filling on `stream`. Throws
  // CudaError for anything else than a lack of memory. `sources` must be the same at each call.
  std::int64_t ensure(std::int64_t wanted, const std::vector<Source>& sources, cudaStream_t stream);
  // The contents may have been damaged: they are made anew by the next ensure().
  void invalidate() { filled_ = 0; }
  // Address of pointer argument `argument` (index into the sources) of copy `copy` (from 0).
  void* address(std::int64_t copy, std::size_t argument) const {
    return copies_[static_cast<std::size_t>(copy)].addresses[argument];
  }

 private:
  struct Copy {
    DeviceMemory memory;
    std::vector<void*> addresses;
  };
  bool add(const std::vector<Source>& sources);
  static void fill(const Copy& copy, const std::vector<Source>& sources, cudaStream_t stream);

  std::vector<Copy> copies_;
  std::size_t filled_ = 0;      // copies, from the first, whose contents are right
  std::size_t budget_bytes_ = 0;
  bool budget_known_ = false;
};

}  // namespace tunebook
