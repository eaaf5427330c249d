#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "session/event_loop.h"
#include "session/worker_process.h"
#include "worker/message.h"

namespace tunebook {

struct CompilePoolOptions {
  WorkerCommand worker;         // its role and how many requests it has at once are set by the pool; so is, if 0, address_space_mib
  int workers = 0;              // processes; 0: default_compile_workers()
  int threads_per_worker = 0;   // compiles at once in each; 0: what default_compile_workers() allows for each, up to ...
  int max_threads_per_worker = 1;  // ... this: max_compile_threads() of the device kind
  double timeout_s = 60;        // of one compile
  double start_timeout_s = kWorkerStartSeconds;
  std::string slots_file;       // of CompileSlots: each compile waits for one; "": none are needed
};

// The answer to a job. A compiler that crashed or was killed (compile_error), hung (compile_timeout) or was stopped from outside
// (worker_lost) is an outcome too. Jobs that shared its process are compiled again: alone, if it is not known whose fault it was.
struct CompileResult {
  CompileReply reply;             // with the id of the request as it was submitted
  std::string environment_error;  // not empty: no compile worker can be started, or there is no room for what is compiled; why, and
                                  // what to do. Nothing was compiled, and no configuration is to blame
};

struct CompileStatistics {
  int workers = 0;                // alive
  int busy = 0;                   // of these, compiling
  int compiling = 0;              // jobs being compiled; more than `busy` if workers have several at once
  std::size_t queued = 0;
  std::int64_t finished = 0;      // all answered jobs
  std::int64_t cached = 0;
  std::int64_t timed_out = 0;
  std::int64_t workers_lost = 0;  // while compiling, timeouts included
  double compile_seconds = 0;     // wall time of all compiles, added up
};

// Compile workers and a queue of jobs for them. All calls and callbacks are in the loop's thread; a callback may call the pool
// but not destroy it.
class CompilePool {
 public:
  using Callback = std::function<void(CompileResult)>;

  CompilePool(EventLoop& loop, CompilePoolOptions options);
  ~CompilePool();  // kills what runs; no callbacks follow
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  // Starts the workers; submit() does, too.
  void start();
  // Higher priority first, equal ones in order of submission. The callback is called from the loop, once.
  void submit(CompileRequest request, int priority, Callback callback);
  // Drops the jobs of a lower priority than this that have not begun, or wait to begin again; their callbacks are not called. Returns how many.
  std::size_t cancel_queued(int below_priority);
  std::size_t cancel_queued();  // all

  // Stops and continues the processes that are compiling now, with their children; nothing is handed out meanwhile.
  void stop_running();
  void continue_running();

  int workers() const;                          // as configured
  int capacity() const;                         // compiles at once: workers times threads of each
  const std::optional<Hello>& hello() const;    // of the first worker that was ready
  CompileStatistics statistics() const;
  // What workers have to tell the user so far, each once: the lines that they print after "tunebook: ".
  std::set<std::string> notes() const;
  // Why no worker can be started any more, and what to do; empty while one lives.
  std::string failure() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tunebook
