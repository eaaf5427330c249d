#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "session/event_loop.h"
#include "session/executor.h"
#include "session/worker_process.h"
#include "worker/message.h"

namespace tunebook {

struct FinalistCandidate {
  Configuration configuration;
  ProblemLaunch launch;             // on the tuned problem, number 0 of the setup
};

struct FinalistTiming {
  FinalistPlan plan;
  double energy_seconds = 1;        // of repetition of each candidate, where the plan asks for energy
  std::int64_t samples = 15;        // of each candidate in each process
  CacheMode cache = CacheMode::cold;
  double step_s = 10;               // how long a step of the worker may take
  std::optional<ProblemLaunch> baseline;  // timed as one more of the candidates
};

struct FinalistTimes {
  std::vector<Finalist> finalists;
  std::optional<BaselineRecord> baseline;  // where FinalistTiming has one
};

// Times the candidates interleaved, in fresh runner processes one after the other, their order rotating from process to process.
// A process counts only with all candidates, since ratios are paired by process; a candidate that cannot be timed even alone
// is left out and the others start again. A baseline that is not there, is wrong or fails is left out of all further processes, and costs the
// candidates nothing.
// Throws EnvironmentError if no process gave times.
FinalistTimes time_in_fresh_processes(EventLoop& loop, const WorkerCommand& runner, const SetupRequest& setup,
                                              std::vector<FinalistCandidate> candidates, const FinalistTiming& timing);

}  // namespace tunebook
