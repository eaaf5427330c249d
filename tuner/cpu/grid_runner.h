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
  double total_cpu_us = 0;  // processor time, all threads together

  // What the launch is timed by: total_cpu_us * ceil(blocks / threads) / blocks, the time it takes when every thread has a core to
  // itself and blocks are alike. On a machine with other work, wall time varied by a factor of 2 or more and the processor
  // time of the busiest thread by 20 % (a thread that is preempted leaves its blocks to the others), this by 3 %.
  double time_us = 0;
};

// Runs a grid: every thread takes the next block, in order, until none is left.
LaunchResult run_grid(WorkerThreads& threads, const GridLaunch& launch);

}  // namespace tunebook
