#include "session/ordered_outcomes.h"

#include <algorithm>

namespace tunebook {

void OrderedOutcomes::add(std::int64_t order, const Observation& observation, Strategy& strategy) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) { return waiting.order == order; });
  if (found == waiting_.end()) return;
  found->observation = observation;
  while (!waiting_.empty() && waiting_.front().observation) {
    strategy.tell(waiting_.front().index, *waiting_.front().observation);
    waiting_.pop_front();
  }
}

}  // namespace tunebook
