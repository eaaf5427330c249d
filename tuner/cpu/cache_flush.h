#pragma once

#include <cstdint>
#include <vector>

#include "cpu/worker_threads.h"

namespace tunebook {

// Evicts every core's own caches (L1, L2) by reading as much other memory on it. Read, not written: dirty lines would be
// written back during the kernel that follows. The shared last level is left alone: reading it all would take longer than most
// kernels.
class CacheFlush {
 public:
  explicit CacheFlush(WorkerThreads& threads);
  void operator()();

 private:
  WorkerThreads& threads_;
  std::vector<std::vector<std::uint64_t>> buffers_;  // one per thread
};

}  // namespace tunebook
