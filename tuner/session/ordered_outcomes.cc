#include "session/ordered_outcomes.h"

#include <algorithm>

namespace tunebook {

void OrderedOutcomes::add(std::int64_t order, const Observation& observation) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) { return waiting.order == order; });
  if (found != waiting_.end()) found->observation = observation;
}

bool OrderedOutcomes::tell_next(Strategy& strategy) {
  if (waiting_.empty() || !waiting_.front().observation) return false;
  strategy.tell(waiting_.front().index, *waiting_.front().observation);
  waiting_.pop_front();
  return true;
}

}  // namespace tunebook
