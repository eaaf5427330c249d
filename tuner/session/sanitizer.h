#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/outcome.h"
#include "db/store.h"
#include "session/event_loop.h"
#include "session/worker_process.h"
#include "worker/message.h"

namespace tunebook {

// What `--sanitize` runs finalists under on one kind of device.
struct SanitizerChoice {
  std::string name;     // "compute-sanitizer", "AddressSanitizer"; empty: there is none
  std::string program;  // of compute-sanitizer
  std::string reason;   // there is none: why
};
SanitizerChoice choose_sanitizer(const std::string& device_kind);
const std::vector<std::string>& compute_sanitizer_tools();

struct SanitizerCandidate {
  Configuration configuration;
  std::vector<ProblemLaunch> verify;  // small problems first; on the cpu device of kernels compiled for it (`-fsanitize=address`)
};

struct SanitizerVerdict {
  Configuration configuration;
  std::string finding;  // not empty: the kernel is wrong; with the tool's name: "memcheck: Invalid __global__ read ..."
  Outcome outcome = Outcome::ok;  // with a finding: fault, wrong_result, ...
  bool clean = false;   // every tool ran to its end and found nothing
  std::string note;     // neither: what kept a tool from finishing
};

struct SanitizerRun {
  WorkerCommand runner;   // as without a sanitizer
  SetupRequest setup;     // of all problems that candidates run on; others are passed over
  double step_s = 10;     // how long a step may take without a sanitizer
  std::vector<std::string> tools;  // of compute_sanitizer_tools(); none given: all
  std::function<bool()> stop;
};

// Of the problems that a candidate applies to (numbers of `setup`), those that a sanitizer is given: whose buffers hold 1 MiB or less
// together, or, if there is none, the smallest. A kernel runs 10 to 1000 times as long under a tool, and what is wrong with it shows on
// small problems as on large ones.
std::vector<std::int64_t> problems_for_sanitizer(const SetupRequest& setup, const std::vector<std::int64_t>& applicable);

// Verifies the candidates under each tool, in processes of their own. All share one as long as nothing is found in it; then each
// has its own, so that a finding is of one candidate. Of the setup's problems those are set up that one of its candidates runs on.
// Verdicts in the order of the candidates; fewer when `stop` said so.
std::vector<SanitizerVerdict> sanitize(EventLoop& loop, const SanitizerChoice& sanitizer, const SanitizerRun& run,
                                       const std::vector<SanitizerCandidate>& candidates);

}  // namespace tunebook
