#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace tunebook {

// Indices of a space that need not be proposed any more. One bit an index for spaces of ordinary size, else a hash set.
class TakenSet {
 public:
  explicit TakenSet(std::uint64_t size) : size_(size) {
    if (size <= kDense) bits_.resize(static_cast<std::size_t>(size), false);
  }
  std::uint64_t size() const { return size_; }
  std::uint64_t remaining() const { return size_ - count_; }
  bool contains(std::uint64_t index) const {
    return size_ <= kDense ? bits_[static_cast<std::size_t>(index)] : set_.contains(index);
  }
  // False if it was there.
  bool insert(std::uint64_t index) {
    if (size_ <= kDense) {
      if (bits_[static_cast<std::size_t>(index)]) return false;
      bits_[static_cast<std::size_t>(index)] = true;
    } else if (!set_.insert(index).second) {
      return false;
    }
    ++count_;
    return true;
  }

 private:
  static constexpr std::uint64_t kDense = std::uint64_t{1} << 24;  // 2 MiB
  std::uint64_t size_;
  std::uint64_t count_ = 0;
  std::vector<bool> bits_;
  std::unordered_set<std::uint64_t> set_;
};

}  // namespace tunebook
