#include "session/lookahead.h"

#include <memory>
#include <utility>

namespace tunebook {

Lookahead::Lookahead(Strategy& strategy, const SearchSpace& space, Executor& executor)
    : strategy_(strategy), space_(space), executor_(executor), self_(std::make_shared<Lookahead*>(this)) {
  if (executor_.foresees()) strategy_.use_foresight();
}

void Lookahead::look() {
  for (const std::uint64_t index : strategy_.prospects()) {
    if (!requested_.insert(index).second) continue;
    requests_.push_back({index, std::nullopt});
    executor_.foresee(space_.configuration(index), [self = std::weak_ptr(self_), index](const Foresight& foresight) {
      if (const auto lookahead = self.lock()) (*lookahead)->answer(index, foresight);
    });
  }
}

void Lookahead::answer(std::uint64_t index, const Foresight& foresight) {
  for (Request& request : requests_) {
    if (request.index == index) request.answer = foresight;
  }
  while (!requests_.empty() && requests_.front().answer) {
    const Request request = std::move(requests_.front());
    requests_.pop_front();
    strategy_.foresee(request.index, *request.answer);
  }
}

}  // namespace tunebook
