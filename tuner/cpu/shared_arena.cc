#include "cpu/shared_arena.h"

#include <cstring>
#include <new>
#include <utility>

#include <sys/mman.h>

#include "cpu/asan_hooks.h"

namespace tunebook {

// guard | static part | guard | dynamic part | guard
SharedArena::SharedArena() {
  constexpr std::size_t kTotal = 2 * kMaxBytes + 3 * kGuardBytes;
  void* const mapping = ::mmap(nullptr, kTotal, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<char*>(mapping);
  if (::mprotect(mapping_ + kGuardBytes, kMaxBytes, PROT_READ | PROT_WRITE) != 0 ||
      ::mprotect(mapping_ + 2 * kGuardBytes + kMaxBytes, kMaxBytes, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(mapping_, kTotal);
    throw std::bad_alloc();
  }
  place({}, 0);
}

SharedArena::~SharedArena() {
  if (sanitizing()) kAsanHooks.unpoison(mapping_, 2 * kMaxBytes + 3 * kGuardBytes);
  ::munmap(mapping_, 2 * kMaxBytes + 3 * kGuardBytes);
}

void SharedArena::place(std::vector<SharedRange> static_ranges, std::size_t dynamic_bytes) {
  const auto rounded = [](std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
  static_ranges_ = std::move(static_ranges);
  dynamic_bytes_ = dynamic_bytes;
  const std::size_t static_bytes = static_ranges_.empty() ? 0 : static_ranges_.back().offset + static_ranges_.back().bytes;
  static_part_ = mapping_ + kGuardBytes + kMaxBytes - rounded(static_bytes);
  dynamic_part_ = mapping_ + 2 * (kGuardBytes + kMaxBytes) - rounded(dynamic_bytes);
  if (!sanitizing()) return;
  kAsanHooks.poison(mapping_ + kGuardBytes, kMaxBytes);
  kAsanHooks.poison(mapping_ + 2 * kGuardBytes + kMaxBytes, kMaxBytes);
  for (const SharedRange& range : static_ranges_) kAsanHooks.unpoison(static_part_ + range.offset, range.bytes);
  kAsanHooks.unpoison(dynamic_part_, dynamic_bytes);
}

void SharedArena::fill(std::uint8_t value) {
  for (const SharedRange& range : static_ranges_) std::memset(static_part_ + range.offset, value, range.bytes);
  std::memset(dynamic_part_, value, dynamic_bytes_);
}

int SharedArena::past_end_of(const void* address) const {
  const char* const at = static_cast<const char*>(address);
  const char* const static_end = mapping_ + kGuardBytes + kMaxBytes;
  const char* const dynamic_end = mapping_ + 2 * (kGuardBytes + kMaxBytes);
  if (at >= static_end && at < static_end + kGuardBytes) return 1;
  if (at >= dynamic_end && at < dynamic_end + kGuardBytes) return 2;
  return 0;
}

}  // namespace tunebook
