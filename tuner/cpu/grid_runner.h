#pragma once

#include <optional>
#include <vector>

#include "cpu/block_runner.h"
#include "cpu/worker_threads.h"

namespace tunebook {

struct LaunchResult {
  std::optional<KernelFailure> failure;
  bool stuck = false;       // after a failure a thread did not come back: the process cannot be used again
  double wall_us = 0;
  double longest_cpu_us = 0;  // processor time of the thread that took most of it
  double total_cpu_us = 0;
};

// Runs a grid: every thread takes the next block, in order, until none is left.
LaunchResult run_grid(WorkerThreads& threads, const GridLaunch& launch);

}  // namespace tunebook
