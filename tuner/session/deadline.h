#pragma once

#include <functional>
#include <utility>

#include "session/event_loop.h"

namespace tunebook {

// A clock for an answer of a child process, which can stand still while the child does. Destroyed within its callback, if need be.
class Deadline {
 public:
  // `expired` is called once for each start() whose time is over.
  Deadline(EventLoop& loop, std::function<void()> expired)
      : expired_(std::move(expired)), timer_(loop, [this] { time_over(); }) {}

  void start(double seconds) {
    seconds_ = seconds;
    looked_again_ = false;
    running_ = true;
    remaining_s_ = seconds;
    if (!still_) timer_.start(seconds);
  }
  void stop() {
    running_ = false;
    timer_.stop();
  }
  // As start() with the same time, if it was ever started.
  void restart() {
    if (seconds_ > 0) start(seconds_);
  }
  void hold_still() {
    if (std::exchange(still_, true) || !running_) return;
    remaining_s_ = timer_.remaining_s();
    timer_.stop();
  }
  void go_on() {
    if (std::exchange(still_, false) && running_) timer_.start(remaining_s_);
  }
  double seconds() const { return seconds_; }  // of the last start(); 0 if there was none

 private:
  // Not 0: libuv would fire the timer again before it looks at the channel.
  static constexpr double kSecondLookSeconds = 0.001;

  // When the coordinator itself was busy, the answer may be waiting already: the loop looks at the channel once more first.
  void time_over() {
    if (!std::exchange(looked_again_, true)) return timer_.start(kSecondLookSeconds);
    running_ = false;
    expired_();
  }

  std::function<void()> expired_;
  double seconds_ = 0;
  double remaining_s_ = 0;
  bool looked_again_ = false;
  bool running_ = false;
  bool still_ = false;
  Timer timer_;
};

}  // namespace tunebook
