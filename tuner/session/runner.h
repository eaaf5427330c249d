#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "session/event_loop.h"
#include "session/worker_process.h"
#include "worker/message.h"

namespace tunebook {

// The one process that uses a device. It is replaced when it is lost or has reported an outcome after which it cannot go on;
// the new one gets the same setup again. All calls and callbacks are in the loop's thread.
class Runner {
 public:
  struct Callbacks {
    std::function<void()> on_idle;                          // set up and without a request
    std::function<void(const std::string& error)> on_dead;  // cannot be started or set up any more; why and what to do
  };
  struct Limits {
    double step_s = 10;   // until the next stage or the answer
    double setup_s = 300; // buffers and references of all problems
  };

  Runner(EventLoop& loop, WorkerCommand command, Limits limits, Callbacks callbacks);
  ~Runner();

  // Empty until the first process said Hello.
  const std::optional<Hello>& hello() const { return hello_; }

  // Has the device opened without a set-up, which it waits for by itself otherwise: whether that works is known once opened(), or by
  // on_dead. After the first Hello.
  void open_device();
  bool opened() const { return opened_; }

  // What each process is given before its first trial.
  void set_setup(SetupRequest setup);
  bool idle() const { return state_ == State::idle; }
  bool running() const { return state_ == State::running; }  // a trial
  // Runs a trial; the answer may be made here: run_timeout, worker_lost. Only when idle().
  // on_idle comes before `done`: the next trial runs while the caller works with the last answer.
  void run(RunRequest request, double timing_s, std::function<void(RunReply)> done);
  // How long it had nothing to do though it was set up, from its first trial to its last one so far. Seconds.
  double idle_seconds() const { return idle_seconds_; }
  // Ends the process, whatever it does; no answer follows and no new one starts. `gone` is called from the loop when it has ended.
  void shut_down(std::function<void()> gone = {});

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { starting, waiting_for_setup, opening, setting_up, idle, running, dead };
  void start();
  void try_setup();
  void on_reply(Reply reply);
  void on_lost(const LostReason& reason);
  void become_idle();
  void restart();
  void die(const std::string& error);

  EventLoop& loop_;
  WorkerCommand command_;
  Limits limits_;
  Callbacks callbacks_;
  State state_ = State::starting;
  std::unique_ptr<WorkerProcess> process_;
  std::optional<Hello> hello_;
  std::optional<SetupRequest> setup_;
  std::int64_t running_id_ = 0;
  std::function<void(RunReply)> done_;
  bool opening_asked_ = false;
  bool opened_ = false;
  int failed_starts_ = 0;
  bool ran_once_ = false;
  std::optional<Clock::time_point> idle_since_;  // after its first trial
  double idle_seconds_ = 0;
};

// What a lost runner means for the trial it was running.
struct LossOutcome {
  Outcome outcome;
  std::string message;
};
LossOutcome outcome_of_loss(const LostReason& reason);

}  // namespace tunebook
