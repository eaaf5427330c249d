#pragma once

#include <functional>
#include <string>

#include "session/event_loop.h"
#include "session/profiler_report.h"
#include "session/worker_process.h"
#include "worker/message.h"

namespace tunebook {

struct ProfilerRun {
  WorkerCommand runner;    // as without the profiler
  SetupRequest setup;      // the tuned problem
  ProblemLaunch launch;    // on it
  CacheMode cache = CacheMode::cold;
  double step_s = 10;      // how long a step may take without the profiler
  std::function<bool()> stop;
};

// Counts one launch of the kernel by Nsight Compute; of several launches, the first one. What keeps it from that is the report's
// `reason`: not installed, no permission, a device that is not a GPU.
ProfileReport profile(EventLoop& loop, const std::string& device_kind, const ProfilerRun& run);

}  // namespace tunebook
