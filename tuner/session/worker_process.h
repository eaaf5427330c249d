#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "session/event_loop.h"
#include "worker/message.h"

namespace tunebook {

// The program that serves a device kind, "cuda" or "cpu": in $TUNEBOOK_WORKER_DIR, else beside the running executable, else in
// ../libexec/tunebook from there. If there is none, the path where it was looked for first: starting it then says so.
std::string worker_program(const std::string& kind);

// How many compiles one compile process of a device kind can serve with profit. NVRTC compiles two programs at once at 1.85 times the
// pace of one, and more no faster; the cpu device's compilers are processes of their own.
int max_compile_threads(const std::string& kind);

struct WorkerCommand {
  std::string program;
  WorkerRole role = WorkerRole::compiler;
  std::string device;                  // as `--device`; may be empty for compilers
  std::int64_t address_space_mib = 0;  // compilers: a limit; 0: none
  int max_in_flight = 1;               // requests that it serves at once; more than one only for compilers (as `--threads`)
  std::vector<std::string> arguments;  // further ones
  std::vector<std::string> wrapper;    // a tool and its arguments; the tool starts the program, whose command line follows them
  double wrapper_end_s = 0;            // how long the tool may go on after the program ended, to write what it found
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
    stopped,          // somebody else stopped it (SIGSTOP) in the middle of its work, and it was killed
  };
  Kind kind = Kind::exited;
  int code = 0;
  std::string text;
  double deadline_s = 0;    // deadline: which one
  std::string stage;        // the last stage it reported of its request; "start" before its Hello; "" if none or of several requests
  std::string error_output; // the end of what it printed
  std::optional<std::int64_t> request;  // deadline: whose it was; nothing before Hello and for other kinds
  bool out_of_memory = false;  // signalled: the kernel's out-of-memory killer was at work while it ran

  // One sentence for a message, without the output: "was killed by signal 11 (Segmentation fault)".
  std::string describe() const;
  // The message, and below it the end of what it printed, if anything.
  std::string with_output(std::string message) const;
};

// Called from the loop. Each may destroy the WorkerProcess. After on_lost nothing more is called.
struct WorkerCallbacks {
  std::function<void(const Hello&)> on_hello;
  std::function<void(Reply)> on_reply;  // the answer to the request, never Hello or Stage
  std::function<void(const LostReason&)> on_lost;
};

inline constexpr double kWorkerStartSeconds = 60;  // until Hello: opening a device on a busy machine takes seconds

// A child process that speaks the worker protocol, in a process group (session) of its own, with all of which it is killed when this
// object is destroyed. It has up to `max_in_flight` requests at once, answered in any order. The thread that starts it must live as
// long: it dies with that thread.
class WorkerProcess {
 public:
  // Starts it. Failure to start is reported by on_lost, from the loop.
  WorkerProcess(EventLoop& loop, const WorkerCommand& command, WorkerCallbacks callbacks,
                double start_seconds = kWorkerStartSeconds);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Sends the request. Throws std::logic_error if there was no Hello yet, as many as it may have are unanswered, or one of them has
  // the same id. To a lost worker: nothing.
  void send(const Request& request);
  // From now on, the worker is lost if for `seconds` it neither answers the request sent last nor reports a stage of it. The answer
  // ends this. Each request has its own deadline.
  void arm_deadline(double seconds);

  bool ready() const;  // said Hello, is not lost and can take a request
  bool busy() const;   // has a request
  int pid() const;     // -1 if it did not start
  std::string stage() const;         // the last one reported, of the request sent last
  std::string error_output() const;  // the last 16 KiB that it printed

  // Stops and continues the process and its children (SIGSTOP, SIGCONT); meanwhile all deadlines stand still.
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
