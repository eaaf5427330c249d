#pragma once

#include <functional>
#include <memory>
#include <string>

#include "worker/message.h"

namespace tunebook {

// What a device kind implements. Each object is called from one thread; a worker with several threads makes one compiler for each,
// so they share nothing unsynchronised. A bad candidate is an Outcome in the reply; an exception ends the worker.
class CompilerBackend {
 public:
  virtual ~CompilerBackend() = default;
  virtual Hello hello() = 0;
  virtual CompileReply compile(const CompileRequest& request) = 0;
};

// Called before a step that could hang, with its name.
using StageCallback = std::function<void(const std::string&)>;

class RunnerBackend {
 public:
  virtual ~RunnerBackend() = default;
  virtual Hello hello() = 0;
  // Called once after Hello was sent: what takes long and Hello does not need. Not for a device that cannot be used.
  virtual void warm_up() {}
  virtual SetupReply setup(const SetupRequest& request, const StageCallback& stage) = 0;
  virtual RunReply run(const RunRequest& request, const StageCallback& stage) = 0;
  virtual InterleaveReply interleave(const InterleaveRequest& request, const StageCallback& stage) = 0;
  virtual CalibrateReply calibrate(const CalibrateRequest& request, const StageCallback& stage) = 0;
};

struct BackendFactory {
  std::function<std::unique_ptr<CompilerBackend>()> compiler;
  std::function<std::unique_ptr<RunnerBackend>(const std::string& device)> runner;
};

// Runs a worker program: `PROGRAM --role compiler|runner [--device ID] [--fd 3] [--address-space-mib N] [--threads N]`. Ties its life
// to its parent, makes it the first victim of the out-of-memory killer, redirects stray stdout to stderr, sends Hello, serves
// requests until the channel closes; a compiler up to `--threads` at once. Returns the exit code. Run by hand it says what it is for.
int worker_main(int argc, char** argv, const BackendFactory& factory);

}  // namespace tunebook
