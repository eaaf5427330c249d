#pragma once

#include <cstddef>

#include <boost/context/detail/fcontext.hpp>

#include "cpu/asan_hooks.h"

#if defined(__SANITIZE_ADDRESS__)
#define TUNEBOOK_FIBER_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define TUNEBOOK_FIBER_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TUNEBOOK_FIBER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define TUNEBOOK_FIBER_TSAN 1
#endif
#endif

#ifdef TUNEBOOK_FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef TUNEBOOK_FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace tunebook {

// A stack and the point where its code was left; the one place that knows Boost.Context and tells AddressSanitizer and
// ThreadSanitizer of each switch. Fibres stay on the OS thread that first ran them.
class Fiber {
 public:
  // The code that runs on the calling OS thread's own stack.
  Fiber();
  // A stack of `stack_bytes` above a guard page, that will call entry(argument), which must not return. `colour` staggers where
  // frames lie within a page: many stacks with equal offsets would share few cache sets.
  // Throws std::bad_alloc.
  Fiber(std::size_t stack_bytes, unsigned colour, void (*entry)(void*), void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Leaves `from`, which is the running one, and continues `to`.
  static void switch_to(Fiber& from, Fiber& to);

  // Forgets what the fibre was doing (no destructors run); its next continuation is a call of entry(argument).
  void restart();

  bool guard_contains(const void* address) const;

 private:
  struct Passing;
  static void trampoline(void* previous_context, Passing* passing);
  friend struct FiberEntry;
  void resumed(void* previous_context, Fiber& previous);

  void* context_ = nullptr;
  char* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::size_t top_offset_ = 0;  // bytes left free at the top
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  // Sanitizers only.
  void* fake_stack_ = nullptr;
  [[maybe_unused]] void* tsan_fiber_ = nullptr;
  const void* stack_bottom_ = nullptr;
  std::size_t stack_bytes_ = 0;
};

// In the header, because a barrier is little else than this.
struct Fiber::Passing {
  Fiber* from;
  Fiber* to;
};

// Runs on the new stack: notes where the previous fibre was left.
inline void Fiber::resumed(void* previous_context, Fiber& previous) {
  previous.context_ = previous_context;
#ifdef TUNEBOOK_FIBER_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_, &previous.stack_bottom_, &previous.stack_bytes_);
#else
  if (sanitizing()) kAsanHooks.finish_switch_fiber(fake_stack_, &previous.stack_bottom_, &previous.stack_bytes_);
#endif
}

inline void Fiber::switch_to(Fiber& from, Fiber& to) {
  Passing passing{&from, &to};
#ifdef TUNEBOOK_FIBER_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.stack_bottom_, to.stack_bytes_);
#else
  if (sanitizing()) kAsanHooks.start_switch_fiber(&from.fake_stack_, to.stack_bottom_, to.stack_bytes_);
#endif
#ifdef TUNEBOOK_FIBER_TSAN
  __tsan_switch_to_fiber(to.tsan_fiber_, 0);
#endif
  const boost::context::detail::transfer_t transfer = boost::context::detail::jump_fcontext(to.context_, &passing);
  from.resumed(transfer.fctx, *static_cast<Passing*>(transfer.data)->from);
}

}  // namespace tunebook
