#include "session/event_loop.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "session/event_loop_impl.h"

namespace tunebook {
namespace {

// Killed children are gone in milliseconds; one that hangs in a driver must not keep the coordinator from ending.
constexpr std::chrono::seconds kDrainLimit{5};

std::uint64_t to_ms(double seconds) {
  // Rounded up: a deadline is never early. The bound is far beyond any session and within libuv's range.
  constexpr double kMaxMs = 1e15;
  return static_cast<std::uint64_t>(std::ceil(std::fmin(std::fmax(seconds, 0) * 1000, kMaxMs)));
}

}  // namespace

void check_uv(int status, const char* what) {
  if (status < 0) throw EnvironmentError(fmt::format("{}: {}", what, uv_strerror(status)));
}

bool EventLoop::Impl::run_posted() {
  std::deque<std::function<void()>> callbacks;
  {
    const std::lock_guard lock(posted_mutex);
    callbacks.swap(posted);
  }
  for (auto& callback : callbacks) guard(callback);
  return !callbacks.empty();
}

bool EventLoop::Impl::has_posted() {
  const std::lock_guard lock(posted_mutex);
  return !posted.empty();
}

void EventLoop::Impl::throw_error() {
  if (error) std::rethrow_exception(std::exchange(error, nullptr));
}

bool EventLoop::Impl::run_once(bool wait) {
  // What was posted may be what the caller waits for: then the events are only looked at.
  const bool ran = run_posted();
  throw_error();
  const bool more = uv_run(&loop, wait && !ran ? UV_RUN_ONCE : UV_RUN_NOWAIT) != 0;
  throw_error();
  return more || has_posted();
}

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {
  std::signal(SIGPIPE, SIG_IGN);
  check_uv(uv_loop_init(&impl_->loop), "cannot create the event loop");
  impl_->loop.data = impl_.get();
  check_uv(uv_async_init(&impl_->loop, &impl_->wake, [](uv_async_t*) {}), "cannot create the event loop");
  uv_unref(as_handle(&impl_->wake));  // does not keep run() waiting
}

EventLoop::~EventLoop() {
  uv_close(as_handle(&impl_->wake), nullptr);
  // Handles close from the loop, and killed children are waited for, lest they stay as zombies.
  bool expired = false;
  uv_timer_t limit;
  uv_timer_init(&impl_->loop, &limit);
  limit.data = &expired;
  uv_timer_start(
      &limit, [](uv_timer_t* timer) { *static_cast<bool*>(timer->data) = true; },
      static_cast<std::uint64_t>(std::chrono::milliseconds(kDrainLimit).count()), 0);
  uv_unref(as_handle(&limit));
  while (!expired && uv_run(&impl_->loop, UV_RUN_ONCE) != 0) {
  }
  uv_close(as_handle(&limit), nullptr);
  uv_run(&impl_->loop, UV_RUN_NOWAIT);
  // What is still open belongs to a child that does not die; its memory is left to the end of the process.
  if (uv_loop_close(&impl_->loop) != 0) static_cast<void>(impl_.release());
}

void EventLoop::run() {
  impl_->stopped = false;
  while (!impl_->stopped && impl_->run_once(true)) {
  }
}

void EventLoop::stop() {
  impl_->stopped = true;
  uv_stop(&impl_->loop);
}

bool EventLoop::run_until(const std::function<bool()>& finished, double timeout_s) {
  bool expired = false;
  Timer limit(*this, [&expired] { expired = true; });
  if (std::isfinite(timeout_s)) limit.start(timeout_s);
  impl_->stopped = false;
  while (!finished() && !expired && !impl_->stopped && impl_->run_once(true)) {
  }
  return finished();
}

void EventLoop::post(std::function<void()> callback) {
  {
    const std::lock_guard lock(impl_->posted_mutex);
    impl_->posted.push_back(std::move(callback));
  }
  uv_async_send(&impl_->wake);
}

struct Timer::Handle {
  uv_timer_t timer{};
  EventLoop::Impl* loop = nullptr;
  std::function<void()> callback;
};

Timer::Timer(EventLoop& loop, std::function<void()> callback) : handle_(new Handle) {
  handle_->loop = &loop.impl();
  handle_->callback = std::move(callback);
  uv_timer_init(&handle_->loop->loop, &handle_->timer);
  handle_->timer.data = handle_;
}

Timer::~Timer() {
  uv_close(as_handle(&handle_->timer), [](uv_handle_t* handle) { delete static_cast<Handle*>(handle->data); });
}

void Timer::start(double seconds, double repeat_s) {
  uv_update_time(&handle_->loop->loop);  // the loop's clock stands still during callbacks
  uv_timer_start(
      &handle_->timer,
      [](uv_timer_t* timer) {
        // Closing only frees the handle in a later phase of the loop, so the callback may destroy its Timer.
        auto* handle = static_cast<Handle*>(timer->data);
        handle->loop->guard(handle->callback);
      },
      to_ms(seconds), to_ms(repeat_s));
}

void Timer::stop() { uv_timer_stop(&handle_->timer); }

bool Timer::active() const { return uv_is_active(as_handle(&handle_->timer)) != 0; }

double Timer::remaining_s() const {
  if (!active()) return 0;
  uv_update_time(&handle_->loop->loop);
  return static_cast<double>(uv_timer_get_due_in(&handle_->timer)) / 1000;
}

}  // namespace tunebook
