#pragma once

#include <functional>
#include <limits>
#include <memory>

namespace tunebook {

// The coordinator's event loop (libuv). Everything that uses it belongs to the thread that runs it and is destroyed before it;
// only post() may be called from other threads. An exception that leaves a callback ends the running run() or run_until() and
// is thrown from there.
class EventLoop {
 public:
  EventLoop();   // from here on the process ignores SIGPIPE: a vanished worker is an error value
  ~EventLoop();  // waits for children that are ending, at most a few seconds
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Serves events until stop() or until there is nothing left to wait for.
  void run();
  void stop();
  // Serves events until `finished` holds (asked after each round of events) or the time is over. Returns what `finished` said
  // last.
  bool run_until(const std::function<bool()>& finished,
                 double timeout_s = std::numeric_limits<double>::infinity());

  // Calls `callback` from the loop, soon, in order.
  void post(std::function<void()> callback);

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Calls its callback once, or regularly, from the loop while it exists. May be destroyed within its callback.
class Timer {
 public:
  Timer(EventLoop& loop, std::function<void()> callback);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // (Re)starts it; with repeat_s > 0 it goes on from there.
  void start(double seconds, double repeat_s = 0);
  void stop();
  bool active() const;
  double remaining_s() const;  // 0 when not active

 private:
  struct Handle;
  Handle* handle_;  // libuv frees it from the loop
};

}  // namespace tunebook
