#include "session/runner.h"

#include <utility>

#include <fmt/format.h>

namespace tunebook {
namespace {

// A device that fails so often in a row without one trial between is gone.
constexpr int kFailedStarts = 3;

}  // namespace

LossOutcome outcome_of_loss(const LostReason& reason) {
  const std::string step = reason.stage.empty() ? "" : fmt::format(" in step '{}'", reason.stage);
  if (reason.kind == LostReason::Kind::deadline) {
    return {Outcome::run_timeout, reason.with_output(fmt::format("did not end within {:g} s{}", reason.deadline_s, step))};
  }
  return {Outcome::worker_lost, reason.with_output(fmt::format("the runner {}{}", reason.describe(), step))};
}

Runner::Runner(EventLoop& loop, WorkerCommand command, Limits limits, Callbacks callbacks)
    : loop_(loop), command_(std::move(command)), limits_(limits), callbacks_(std::move(callbacks)) {
  command_.role = WorkerRole::runner;
  start();
}

Runner::~Runner() = default;

void Runner::start() {
  state_ = State::starting;
  WorkerCallbacks callbacks;
  callbacks.on_hello = [this](const Hello& hello) {
    if (!hello.error.empty()) return die(hello.error);
    if (!hello_) hello_ = hello;
    state_ = State::waiting_for_setup;
    try_setup();
    if (opening_asked_ && state_ == State::waiting_for_setup) open_device();
  };
  callbacks.on_reply = [this](Reply reply) { on_reply(std::move(reply)); };
  callbacks.on_lost = [this](const LostReason& reason) { on_lost(reason); };
  process_ = std::make_unique<WorkerProcess>(loop_, command_, std::move(callbacks));
}

void Runner::set_setup(SetupRequest setup) {
  setup_ = std::move(setup);
  try_setup();
}

void Runner::open_device() {
  opening_asked_ = true;
  if (state_ != State::waiting_for_setup) return;
  state_ = State::opening;
  process_->send(SetupRequest{});
  process_->arm_deadline(kWorkerStartSeconds);
}

void Runner::try_setup() {
  if (state_ != State::waiting_for_setup || !setup_) return;
  state_ = State::setting_up;
  process_->send(*setup_);
  process_->arm_deadline(limits_.setup_s);
}

void Runner::run(RunRequest request, double timing_s, std::function<void(RunReply)> done) {
  state_ = State::running;
  running_id_ = request.id;
  done_ = std::move(done);
  ran_once_ = true;
  if (idle_since_) idle_seconds_ += std::chrono::duration<double>(Clock::now() - *std::exchange(idle_since_, std::nullopt)).count();
  process_->send(request);
  process_->arm_deadline(limits_.step_s + timing_s);
}

void Runner::on_reply(Reply reply) {
  if (auto* setup = std::get_if<SetupReply>(&reply)) {
    if (state_ == State::opening && setup->outcome == Outcome::ok) {
      opened_ = true;
      opening_asked_ = false;
      state_ = State::waiting_for_setup;
      return try_setup();
    }
    if (setup->outcome != Outcome::ok) {
      return die(fmt::format("{}: {}: {}", state_ == State::opening ? "the device cannot be opened" : "the problem could not be set up",
                             outcome_name(setup->outcome), setup->message));
    }
    return become_idle();
  }
  auto* run = std::get_if<RunReply>(&reply);
  if (run == nullptr || state_ != State::running || run->id != running_id_) return;
  failed_starts_ = 0;
  const auto done = std::exchange(done_, nullptr);
  if (poisons_worker(run->outcome)) {
    restart();
  } else {
    become_idle();
  }
  done(std::move(*run));
}

// What waits for it is sent at once; the caller's work with the last answer comes after that.
void Runner::become_idle() {
  state_ = State::idle;
  if (ran_once_) idle_since_ = Clock::now();
  if (callbacks_.on_idle) callbacks_.on_idle();
}

void Runner::on_lost(const LostReason& lost) {
  if (state_ == State::dead) return;
  idle_since_.reset();
  const LostReason reason = lost;  // it goes with the process
  process_.reset();
  const bool setting_up = state_ == State::setting_up || state_ == State::opening;
  if (state_ == State::running) {
    failed_starts_ = 0;
    RunReply reply;
    reply.id = running_id_;
    const LossOutcome loss = outcome_of_loss(reason);
    reply.outcome = loss.outcome;
    reply.verification.seconds = reason.deadline_s;  // what it cost at least; 0 if it was no deadline
    reply.message = loss.message;
    restart();
    const auto done = std::exchange(done_, nullptr);
    done(std::move(reply));
    return;
  }
  // A set-up that takes too long will take as long again.
  const bool hopeless = reason.kind == LostReason::Kind::could_not_start ||
                        (setting_up && reason.kind == LostReason::Kind::deadline);
  if (hopeless || ++failed_starts_ >= kFailedStarts) {
    return die(reason.with_output(fmt::format("the worker of device '{}' {}", command_.device, reason.describe())));
  }
  restart();
}

// After a fault the old process is asked to end, and the new one starts when it has: both may need most of the device's memory.
void Runner::restart() {
  state_ = State::starting;
  if (!process_ || process_->pid() < 0) return start();
  process_->shut_down([this] {
    process_.reset();
    if (state_ == State::starting) start();
  });
}

void Runner::shut_down(std::function<void()> gone) {
  const bool was_dead = state_ == State::dead || !process_;
  state_ = State::dead;
  done_ = nullptr;
  if (was_dead) {
    if (gone) loop_.post(std::move(gone));
    return;
  }
  process_->shut_down(std::move(gone));
}

void Runner::die(const std::string& error) {
  state_ = State::dead;
  if (callbacks_.on_dead) callbacks_.on_dead(error);
}

}  // namespace tunebook
