#include "search/random_order.h"

#include <utility>

namespace tunebook {
namespace {

// A hash node takes some five times the memory of an array element.
constexpr std::uint64_t kSparseShare = 8;

}  // namespace

std::uint64_t RandomOrder::next() {
  const std::uint64_t chosen = cursor_ + random_.below(size_ - cursor_);
  const std::uint64_t result = entry(chosen);
  const std::uint64_t first = entry(cursor_);
  if (dense_.empty()) {
    sparse_.erase(cursor_);
    if (chosen != cursor_) sparse_[chosen] = first;
    if (sparse_.size() > size_ / kSparseShare) make_dense();
  } else {
    dense_[chosen] = first;
  }
  ++cursor_;
  return result;
}

std::uint64_t RandomOrder::entry(std::uint64_t position) const {
  if (!dense_.empty()) return dense_[position];
  const auto found = sparse_.find(position);
  return found == sparse_.end() ? position : found->second;
}

void RandomOrder::make_dense() {
  std::vector<std::uint64_t> dense(size_);
  for (std::uint64_t i = 0; i < size_; ++i) dense[i] = i;
  for (const auto& [position, index] : sparse_) dense[position] = index;
  dense_ = std::move(dense);
  sparse_ = {};
}

}  // namespace tunebook
