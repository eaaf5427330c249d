#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/template_folder.h"
#include "worker/message.h"

namespace tunebook {

// Compiles configurations outside a session, for `check` and `emit`: compile processes only, no runner, so that it works on a
// machine without the device.
struct SampleJob {
  const KernelTemplate* kernel = nullptr;
  Problem problem;
  Configuration configuration;
  std::string arch;         // "sm_90", for which the spec's "arch" may ask for another such as sm_90a; "cpu"
  bool reference = false;   // the reference instead of the kernel
  bool emit = false;
};
// One reply a job, in order. Throws EnvironmentError if no compile worker of a kind that is needed can be started, InputError
// if the spec's "arch" fails.
std::vector<CompileReply> compile_samples(const std::vector<SampleJob>& jobs,
                                          const std::function<void(std::size_t done)>& progress = {});

}  // namespace tunebook
