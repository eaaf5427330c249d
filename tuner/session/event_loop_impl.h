#pragma once

// The libuv side of EventLoop, for the sources of this box that own handles.

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>

#include <uv.h>

#include "session/event_loop.h"

namespace tunebook {

// Throws EnvironmentError "WHAT: reason" if `status` is a libuv error.
void check_uv(int status, const char* what);

struct EventLoop::Impl {
  uv_loop_t loop{};
  uv_async_t wake{};
  std::mutex posted_mutex;
  std::deque<std::function<void()>> posted;
  std::exception_ptr error;
  bool stopped = false;

  // Runs a callback out of libuv, which cannot be unwound: what it throws is kept for run().
  template <typename Function>
  void guard(Function&& function) noexcept {
    try {
      function();
    } catch (...) {
      if (!error) error = std::current_exception();
      uv_stop(&loop);
    }
  }
  bool run_once(bool wait);  // false if nothing is left to wait for
  bool run_posted();       // false if there was nothing
  bool has_posted();
  void throw_error();
};

template <typename Handle>
uv_handle_t* as_handle(Handle* handle) {
  return reinterpret_cast<uv_handle_t*>(handle);
}

}  // namespace tunebook
