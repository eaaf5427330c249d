#pragma once

#include <cstddef>

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
  void* tsan_fiber_ = nullptr;
  const void* stack_bottom_ = nullptr;
  std::size_t stack_bytes_ = 0;
};

}  // namespace tunebook
