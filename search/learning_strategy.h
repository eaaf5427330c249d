#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/random.h"
#include "search/random_order.h"
#include "search/strategy.h"
#include "search/taken_set.h"

namespace tunebook {

// The bookkeeping of strategies that learn: which indices are taken, how many are untold, and values in a form that does not
// depend on the unit of time.
class LearningStrategy : public Strategy {
 public:
  std::vector<std::uint64_t> ask(std::size_t count) final;
  void tell(std::uint64_t index, const Observation& observation) final;
  bool exhausted() const final { return taken_.remaining() == 0; }
  void exclude(std::uint64_t index) final;

 protected:
  // At most `max_untold` proposals wait for their outcome; ask() gives no more until some are told.
  LearningStrategy(const SearchSpace& space, std::uint64_t seed, std::size_t max_untold);

  // The next proposal: an index that is not taken; called only while there is one. None if an outcome has to come first.
  virtual std::optional<std::uint64_t> propose() = 0;
  // `value`: logarithm of the observed value over the first observed one, so that ratios count; in steps of 2^-20, so that the
  // rounding of another unit of time does not matter. Empty where there is no value.
  virtual void learn(std::uint64_t index, Outcome outcome, std::optional<double> value) = 0;

  // What was told of an index: its value, infinity for a failure; empty if nothing was.
  static constexpr double kFailed = std::numeric_limits<double>::infinity();
  std::optional<double> known(std::uint64_t index) const {
    const auto found = known_.find(index);
    return found == known_.end() ? std::nullopt : std::optional<double>(found->second);
  }

  // Called by exclude().
  virtual void excluded(std::uint64_t) {}
  // What was observed of the index that learn() is called for, as it was told.
  double raw_value() const { return raw_value_; }

  bool taken(std::uint64_t index) const { return taken_.contains(index); }
  // A random index that is not taken (there must be one); the same one again if hardly any are left. O(1) amortised.
  std::uint64_t random_untaken();
  // A random index, taken or not.
  std::uint64_t random_index() { return random_.below(space_.size()); }
  std::size_t untold() const { return untold_.size(); }

  const SearchSpace& space_;
  Random random_;

 private:
  TakenSet taken_;
  RandomOrder order_;
  std::optional<std::uint64_t> next_in_order_;  // not yet taken, when last seen
  std::size_t max_untold_;
  std::unordered_set<std::uint64_t> untold_;
  double raw_value_ = 0;
  std::optional<double> reference_;
  std::unordered_map<std::uint64_t, double> known_;
};

}  // namespace tunebook
