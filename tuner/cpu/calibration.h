#pragma once

#include <vector>

#include "core/ceiling.h"
#include "cpu/cache_flush.h"
#include "cpu/worker_threads.h"
#include "worker/message.h"
#include "worker/worker_main.h"

namespace tunebook {

// Measures the ceilings of the cpu device over all threads, in processor time and with the flush that candidates are timed with: of each
// size the median, of arithmetic the best of several repetitions; intervals are those of the median. Sizes for which there is no
// memory are left out. Each thread moves its share, so sizes are rounded down to a multiple of 128 bytes per thread.
std::vector<Ceiling> measure_cpu_ceilings(const CalibrateRequest& request, WorkerThreads& threads, CacheFlush& flush,
                                          const StageCallback& stage);

}  // namespace tunebook
