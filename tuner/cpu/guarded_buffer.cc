#include "cpu/guarded_buffer.h"

#include <cstring>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "cpu/asan_hooks.h"

#if defined(__SANITIZE_ADDRESS__)
#define TUNEBOOK_BUILT_WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TUNEBOOK_BUILT_WITH_ASAN 1
#endif
#endif

namespace tunebook {
namespace {

// What lies around the payload is an error for sanitized kernels. In a worker that is itself built with the sanitizer, damage()
// could not look at it any more.
bool poisons() {
#ifdef TUNEBOOK_BUILT_WITH_ASAN
  return false;
#else
  return sanitizing();
#endif
}

}  // namespace

GuardedBuffer::GuardedBuffer(std::size_t bytes) : bytes_(bytes) {
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t rounded = (bytes + 15) / 16 * 16;
  const std::size_t accessible = (rounded + page - 1) / page * page;
  if (accessible < bytes) throw std::bad_alloc();
  mapping_bytes_ = accessible + 2 * kGuardBytes;
  void* const mapping = ::mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<unsigned char*>(mapping);
  unsigned char* const first = mapping_ + kGuardBytes;
  if (accessible != 0 && ::mprotect(first, accessible, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(mapping_, mapping_bytes_);
    throw std::bad_alloc();
  }
  data_ = first + accessible - rounded;
  std::memset(first, kPattern, static_cast<std::size_t>(data_ - first));
  std::memset(data_ + bytes, kPattern, rounded - bytes);
  if (!poisons()) return;
  kAsanHooks.poison(first, static_cast<std::size_t>(data_ - first));
  kAsanHooks.poison(data_ + bytes, rounded - bytes);
}

GuardedBuffer::~GuardedBuffer() {
  if (mapping_ == nullptr) return;
  if (poisons()) kAsanHooks.unpoison(mapping_, mapping_bytes_);
  ::munmap(mapping_, mapping_bytes_);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(other.mapping_bytes_),
      data_(other.data_),
      bytes_(other.bytes_) {}

std::optional<std::ptrdiff_t> GuardedBuffer::damage() const {
  const unsigned char* const end = mapping_ + mapping_bytes_ - kGuardBytes;
  for (const unsigned char* at = mapping_ + kGuardBytes; at < end; ++at) {
    if (at == data_) at += bytes_;
    if (at < end && *at != kPattern) return at - data_;
  }
  return std::nullopt;
}

void GuardedBuffer::repair() {
  if (poisons()) return;  // what would damage it does not get that far
  unsigned char* const first = mapping_ + kGuardBytes;
  unsigned char* const behind = data_ + bytes_;
  std::memset(first, kPattern, static_cast<std::size_t>(data_ - first));
  std::memset(behind, kPattern, static_cast<std::size_t>(mapping_ + mapping_bytes_ - kGuardBytes - behind));
}

std::optional<std::ptrdiff_t> GuardedBuffer::guard_offset(const void* address) const {
  const unsigned char* const at = static_cast<const unsigned char*>(address);
  if (at < mapping_ || at >= mapping_ + mapping_bytes_) return std::nullopt;
  return at - data_;
}

}  // namespace tunebook
