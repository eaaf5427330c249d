#include "search/hill_climb.h"

#include <utility>

namespace tunebook {

void HillClimb::start(std::uint64_t index, double value) {
  in_flight_.clear();
  move(index, value);
}

void HillClimb::move(std::uint64_t index, double value) {
  index_ = index;
  value_ = value;
  neighbourhood_.hamming(index, queue_);
  for (std::size_t n = queue_.size(); n > 1; --n) std::swap(queue_[n - 1], queue_[random_.below(n)]);
}

std::optional<std::uint64_t> HillClimb::next(const std::function<std::optional<double>(std::uint64_t)>& known,
                                             const std::function<bool(std::uint64_t)>& taken) {
  while (!queue_.empty()) {
    const std::uint64_t index = queue_.back();
    queue_.pop_back();
    if (const std::optional<double> value = known(index)) {
      if (*value < value_) move(index, *value);
      continue;
    }
    if (taken(index)) continue;
    in_flight_.insert(index);
    return index;
  }
  return std::nullopt;
}

void HillClimb::tell(std::uint64_t index, double value) {
  in_flight_.erase(index);
  if (value < value_) move(index, value);
}

}  // namespace tunebook
