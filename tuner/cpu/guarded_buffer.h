#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tunebook {

// Memory for a kernel's buffer that ends directly at pages that cannot be accessed, and has such pages before it too. The start
// is a multiple of 16; what that leaves before the payload (up to a page) and behind it (up to 15 bytes) holds a
// pattern that can be checked.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t bytes);  // throws std::bad_alloc
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // Offset from the start of the first damaged byte around the payload (negative before it); nothing if all are intact.
  std::optional<std::ptrdiff_t> damage() const;
  // Makes it intact again.
  void repair();
  // For an address in the guard pages: its offset from the start.
  std::optional<std::ptrdiff_t> guard_offset(const void* address) const;

 private:
  static constexpr std::size_t kGuardBytes = std::size_t{1} << 20;  // also catches a stride or two beyond the end
  static constexpr unsigned char kPattern = 0xc5;

  unsigned char* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  unsigned char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tunebook
