#pragma once

#include <cstddef>

#include "core/baseline.h"
#include "cpu/problem_buffers.h"
#include "cpu/worker_threads.h"

namespace tunebook {

// The baseline "copy" on this device: the threads copy equal shares of one buffer to another.
class CopyBaseline {
 public:
  // Throws std::runtime_error if the launch is no copy between two buffers of the problem.
  CopyBaseline(const BaselineLaunch& launch, ProblemBuffers& problem);

  // Copies once; us of processor time of all threads, shared out evenly, as kernels are timed.
  double run(WorkerThreads& threads) const;

 private:
  std::byte* target_ = nullptr;
  const std::byte* source_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tunebook
