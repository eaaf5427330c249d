#include "search/strategy.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/random.h"

namespace tunebook {
namespace {

// The bookkeeping of strategies that go through the indices in an order of their own and learn nothing.
class OrderedStrategy : public Strategy {
 public:
  explicit OrderedStrategy(std::uint64_t size) : taken_(size, false), remaining_(size) {}

  std::vector<std::uint64_t> ask(std::size_t count) override {
    std::vector<std::uint64_t> proposals;
    while (proposals.size() < count && remaining_ > 0) {
      const std::uint64_t index = next();
      if (take(index)) proposals.push_back(index);
    }
    return proposals;
  }
  void tell(std::uint64_t, const Observation&) override {}
  bool exhausted() const override { return remaining_ == 0; }
  void exclude(std::uint64_t index) override {
    if (index >= taken_.size()) throw std::out_of_range("Strategy::exclude: no such configuration");
    take(index);
  }

 protected:
  // The next index of the order, each once; not called more often than there are indices.
  virtual std::uint64_t next() = 0;

 private:
  bool take(std::uint64_t index) {
    if (taken_[index]) return false;
    taken_[index] = true;
    --remaining_;
    return true;
  }

  std::vector<bool> taken_;
  std::uint64_t remaining_;
};

class Exhaustive final : public OrderedStrategy {
 public:
  using OrderedStrategy::OrderedStrategy;

 private:
  std::uint64_t next() override { return cursor_++; }
  std::uint64_t cursor_ = 0;
};

// A uniform random permutation: Fisher-Yates that stores only the entries that differ from the identity, until there are so many
// that a plain array is smaller.
class RandomOrder final : public OrderedStrategy {
 public:
  RandomOrder(std::uint64_t size, std::uint64_t seed) : OrderedStrategy(size), size_(size), random_(seed) {}

 private:
  // A hash node takes some five times the memory of an array element.
  static constexpr std::uint64_t kSparseShare = 8;

  std::uint64_t next() override {
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

  std::uint64_t entry(std::uint64_t position) const {
    if (!dense_.empty()) return dense_[position];
    const auto found = sparse_.find(position);
    return found == sparse_.end() ? position : found->second;
  }

  void make_dense() {
    std::vector<std::uint64_t> dense(size_);
    for (std::uint64_t i = 0; i < size_; ++i) dense[i] = i;
    for (const auto& [position, index] : sparse_) dense[position] = index;
    dense_ = std::move(dense);
    sparse_ = {};
  }

  std::uint64_t size_;
  std::uint64_t cursor_ = 0;
  Random random_;
  std::unordered_map<std::uint64_t, std::uint64_t> sparse_;
  std::vector<std::uint64_t> dense_;
};

}  // namespace

const std::vector<std::string>& strategy_names() {
  static const std::vector<std::string> names = {"exhaustive", "random"};
  return names;
}

void check_strategy_name(const std::string& name) {
  const std::vector<std::string>& names = strategy_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  const std::string nearest = nearest_word(name, names);
  throw InputError(fmt::format("unknown strategy \"{}\"{}; there are: {}", name,
                               nearest.empty() ? "" : fmt::format(", did you mean \"{}\"?", nearest), fmt::join(names, ", ")));
}

std::unique_ptr<Strategy> make_strategy(const std::string& name, const SearchSpace& space, std::uint64_t seed) {
  check_strategy_name(name);
  if (name == "exhaustive") return std::make_unique<Exhaustive>(space.size());
  return std::make_unique<RandomOrder>(space.size(), seed);
}

}  // namespace tunebook
