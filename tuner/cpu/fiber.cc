#include "cpu/fiber.h"

#include <cstdint>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#ifdef TUNEBOOK_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace tunebook {
namespace {

std::size_t page_bytes() {
  static const std::size_t bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// 32 places, 128 bytes apart, within a page.
constexpr unsigned kColours = 32;
constexpr std::size_t kColourBytes = 128;

}  // namespace

struct FiberEntry {
  static void start(boost::context::detail::transfer_t transfer) {
    Fiber::trampoline(transfer.fctx, static_cast<Fiber::Passing*>(transfer.data));
  }
};

Fiber::Fiber() {
#ifdef TUNEBOOK_FIBER_TSAN
  tsan_fiber_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(std::size_t stack_bytes, unsigned colour, void (*entry)(void*), void* argument)
    : entry_(entry), argument_(argument) {
  const std::size_t page = page_bytes();
  mapping_bytes_ = (stack_bytes + page - 1) / page * page + 2 * page;  // the guard, and room for the colour
  void* const mapping = ::mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<char*>(mapping);
  // Fails if the process has too many mappings; the kernel then runs without this guard.
  (void)::mprotect(mapping_, page, PROT_NONE);
  top_offset_ = (colour % kColours) * kColourBytes;
  stack_bottom_ = mapping_ + page;
  stack_bytes_ = mapping_bytes_ - page;
#ifdef TUNEBOOK_FIBER_TSAN
  tsan_fiber_ = __tsan_create_fiber(0);
#endif
  restart();
}

Fiber::~Fiber() {
  if (mapping_ == nullptr) return;
#ifdef TUNEBOOK_FIBER_TSAN
  __tsan_destroy_fiber(tsan_fiber_);
#endif
#ifdef TUNEBOOK_FIBER_ASAN
  __asan_unpoison_memory_region(stack_bottom_, stack_bytes_);
#else
  if (sanitizing()) kAsanHooks.unpoison(stack_bottom_, stack_bytes_);
#endif
  ::munmap(mapping_, mapping_bytes_);
}

void Fiber::restart() {
#ifdef TUNEBOOK_FIBER_ASAN
  __asan_unpoison_memory_region(stack_bottom_, stack_bytes_);
#else
  if (sanitizing()) kAsanHooks.unpoison(stack_bottom_, stack_bytes_);
#endif
  fake_stack_ = nullptr;
  char* const top = mapping_ + mapping_bytes_ - top_offset_;
  context_ = boost::context::detail::make_fcontext(top, stack_bytes_ - top_offset_, &FiberEntry::start);
}

void Fiber::trampoline(void* previous_context, Passing* passing) {
  Fiber& self = *passing->to;
  self.resumed(previous_context, *passing->from);
  self.entry_(self.argument_);
  __builtin_trap();  // an entry never returns
}

bool Fiber::guard_contains(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto guard = reinterpret_cast<std::uintptr_t>(mapping_);
  return mapping_ != nullptr && at >= guard && at < guard + page_bytes();
}

}  // namespace tunebook
