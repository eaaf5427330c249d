#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "session/event_loop.h"
#include "worker/message.h"

namespace tunebook {

// The program that serves a device kind, "cuda" or "cpu": in $TUNEBOOK_WORKER_DIR, else beside the running executable, else in
// ../libexec/tunebook from there. If there is none, the path where it was looked for first: starting it then says so.
std::string worker_program(const std::string& kind);

struct WorkerCommand {
  std::string program;
  WorkerRole role = WorkerRole::compiler;
  std::string device;                  // as `--device`; may be empty for compilers
  std::int64_t address_space_mib = 0;  // compilers: a limit; 0: none
  std::vector<std::string> arguments;  // further ones
  std::vector<std::pair<std::string, std::string>> environment;  // in addition to ours
};

// Why a worker is no more.
struct LostReason {
  enum class Kind {
    deadline,         // it did not answer in time and was killed
    exited,           // by itself; `code` is its exit code
    signalled,        // `code` is the signal
    protocol_error,   // it said something malformed and was killed; `text` says what
    could_not_start,  // `text` says why
    closed,           // it closed its channel but did not end, and was killed
  };
  Kind kind = Kind::exited;
  int code = 0;
  std::string text;
  double deadline_s = 0;    // deadline: which one
  std::string stage;        // the last stage it reported of its request; "start" before its Hello; "" if none
  std::string error_output; // the end of what it printed

  // One sentence for a message, without the output: "was killed by signal 11 (Segmentation fault)".
  std::string describe() const;
};

// Called from the loop. Each may destroy the WorkerProcess. After on_lost nothing more is called.
struct WorkerCallbacks {
  std::function<void(const Hello&)> on_hello;
  std::function<void(Reply)> on_reply;  // the answer to the request, never Hello or Stage
  std::function<void(const LostReason&)> on_lost;
};

inline constexpr double kWorkerStartSeconds = 60;  // until Hello: opening a device on a busy machine takes seconds

// A child process that speaks the worker protocol, in a process group (session) of its own, with all of which it is killed when this
// object is destroyed. One request at a time. The thread that starts it must live as long: it dies with that thread.
class WorkerProcess {
 public:
  // Starts it. Failure to start is reported by on_lost, from the loop.
  WorkerProcess(EventLoop& loop, const WorkerCommand& command, WorkerCallbacks callbacks,
                double start_seconds = kWorkerStartSeconds);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Sends the request; throws std::logic_error if there was no Hello yet or one is unanswered. To a lost worker: nothing.
  void send(const Request& request);
  // From now on, the worker is lost if it neither answers nor reports a stage for `seconds`. The answer ends it.
  void arm_deadline(double seconds);

  bool ready() const;  // said Hello, is not lost and has no request
  bool busy() const;   // has a request
  int pid() const;     // -1 if it did not start
  const std::string& stage() const;  // the last one reported for this request
  std::string error_output() const;  // the last 16 KiB that it printed

  // Stops and continues the process and its children (SIGSTOP, SIGCONT); meanwhile the deadline stands still.
  void suspend();
  void resume();

  // Ends it politely: closes its channel and gives it a second. No callback but `done` follows (from the loop, and not
  // if this object is destroyed before, which leaves the rest to the loop).
  void shut_down(std::function<void()> done = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tunebook
