#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tunebook {

// A piece of static shared memory.
struct SharedRange {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

// Storage for the shared memory of one block at a time: the static and the dynamic part, each ending at a page that
// cannot be accessed.
class SharedArena {
 public:
  SharedArena();  // throws std::bad_alloc
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  static constexpr std::size_t kMaxBytes = std::size_t{256} << 10;  // of each part; more than any GPU has

  // Both at most kMaxBytes, the static ranges in ascending order. Starts are multiples of kAlignment. A worker that sanitizes
  // makes everything else an error to access.
  void place(std::vector<SharedRange> static_ranges, std::size_t dynamic_bytes);
  char* static_part() const { return static_part_; }
  char* dynamic_part() const { return dynamic_part_; }
  void fill(std::uint8_t value);
  // 1 or 2: `address` is just past the end of the static or dynamic part; 0: neither.
  int past_end_of(const void* address) const;

 private:
  static constexpr std::size_t kAlignment = 128;
  static constexpr std::size_t kGuardBytes = std::size_t{64} << 10;
  char* mapping_ = nullptr;
  char* static_part_ = nullptr;
  char* dynamic_part_ = nullptr;
  std::vector<SharedRange> static_ranges_;
  std::size_t dynamic_bytes_ = 0;
};

}  // namespace tunebook
