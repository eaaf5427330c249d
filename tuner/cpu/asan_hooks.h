#pragma once

#include <cstddef>

namespace tunebook {

// The interface of AddressSanitizer's runtime, which a worker that was built without it may have been started with (asan_runtime.h).
// All null in any other process.
struct AsanHooks {
  void (*start_switch_fiber)(void** fake_stack_save, const void* bottom, std::size_t bytes) = nullptr;
  void (*finish_switch_fiber)(void* fake_stack_save, const void** bottom_old, std::size_t* bytes_old) = nullptr;
  void (*poison)(const volatile void* address, std::size_t bytes) = nullptr;
  void (*unpoison)(const volatile void* address, std::size_t bytes) = nullptr;
};

// Filled before main().
extern const AsanHooks kAsanHooks;

// True in a worker that sanitizes kernels, whether the runtime was loaded into it or it was built with it.
inline bool sanitizing() { return kAsanHooks.poison != nullptr; }

}  // namespace tunebook
