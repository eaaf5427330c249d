#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/ceiling.h"
#include "core/problem.h"
#include "core/template_folder.h"
#include "session/device_executor.h"

namespace tunebook {

// Two configurations of one problem that are to be compared, such as the winners of two books. They may be equal.
struct RemeasureQuestion {
  Problem problem;
  Configuration base, candidate;
  int processes = 10;             // fresh ones
  std::vector<Ceiling> ceilings;  // of the device: what is faster than they allow is not right
  std::function<bool()> stop;     // asked several times a second: ends early. May be empty.
};

struct RemeasureAnswer {
  std::vector<double> base_us, candidate_us;  // medians, one per process, paired
  std::string failure;  // why there are none: a configuration that the template does not declare, that is wrong or cannot be timed
};

// Proves both right on the tuned problem and the spec's small ones, then times them interleaved in fresh processes, as finalists are.
// `executor` was made for `kernel` and answers one question only. Throws what DeviceExecutor throws if the device cannot be used.
RemeasureAnswer remeasure(const KernelTemplate& kernel, const RemeasureQuestion& question, DeviceExecutor& executor);

}  // namespace tunebook
