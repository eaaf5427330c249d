#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/random.h"

namespace tunebook {

// A uniform random permutation of 0 ... size - 1: Fisher-Yates that stores only the entries that differ from the identity, until
// there are so many that a plain array is smaller.
class RandomOrder {
 public:
  RandomOrder(std::uint64_t size, std::uint64_t seed) : size_(size), random_(seed) {}
  bool done() const { return cursor_ == size_; }
  // Not to be called when done().
  std::uint64_t next();

 private:
  std::uint64_t entry(std::uint64_t position) const;
  void make_dense();

  std::uint64_t size_;
  std::uint64_t cursor_ = 0;
  Random random_;
  std::unordered_map<std::uint64_t, std::uint64_t> sparse_;
  std::vector<std::uint64_t> dense_;
};

}  // namespace tunebook
