#include "search/learning_strategy.h"

#include <cmath>
#include <stdexcept>

#include "search/portable_math.h"

namespace tunebook {

LearningStrategy::LearningStrategy(const SearchSpace& space, std::uint64_t seed, std::size_t max_untold)
    : space_(space), random_(seed), taken_(space.size()), order_(space.size(), seed ^ 0x6f72'6465'72ULL),
      max_untold_(max_untold) {}

std::vector<std::uint64_t> LearningStrategy::ask(std::size_t count) {
  std::vector<std::uint64_t> proposals;
  while (proposals.size() < count && untold_.size() < max_untold_ && taken_.remaining() > 0) {
    const std::optional<std::uint64_t> index = propose();
    if (!index) break;
    if (!taken_.insert(*index)) throw std::logic_error("a strategy proposes what is taken");
    untold_.insert(*index);
    proposals.push_back(*index);
  }
  return proposals;
}

void LearningStrategy::tell(std::uint64_t index, const Observation& observation) {
  untold_.erase(index);
  taken_.insert(index);
  std::optional<double> value;
  if (observation.value && *observation.value > 0) {
    constexpr double kSteps = 0x1p20;
    if (!reference_) reference_ = *observation.value;
    raw_value_ = *observation.value;
    value = std::round(portable_log(*observation.value / *reference_) * kSteps) / kSteps;
  }
  known_[index] = value.value_or(kFailed);
  learn(index, observation.outcome, value);
}

void LearningStrategy::exclude(std::uint64_t index) {
  if (index >= taken_.size()) throw std::out_of_range("Strategy::exclude: no such configuration");
  if (taken_.insert(index)) excluded(index);
}

std::uint64_t LearningStrategy::random_untaken() {
  // Trying is cheap while little is taken; the order finds the last ones.
  constexpr int kTries = 16;
  for (int n = 0; n < kTries; ++n) {
    const std::uint64_t index = random_index();
    if (!taken_.contains(index)) return index;
  }
  while (!next_in_order_ || taken_.contains(*next_in_order_)) next_in_order_ = order_.next();
  return *next_in_order_;
}

}  // namespace tunebook
