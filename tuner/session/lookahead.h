#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_set>

#include "search/space.h"
#include "search/strategy.h"
#include "session/executor.h"

namespace tunebook {

// Has configurations compiled ahead of being proposed, as far as a strategy wants it and the executor can, and tells the strategy what
// became of them in the order in which it asked.
class Lookahead {
 public:
  // All must outlive it.
  Lookahead(Strategy& strategy, const SearchSpace& space, Executor& executor);
  Lookahead(const Lookahead&) = delete;
  Lookahead& operator=(const Lookahead&) = delete;

  // Begins with the strategy's prospects, as far as it has not begun with them. Call when ask() gives nothing.
  void look();

 private:
  void answer(std::uint64_t index, const Foresight& foresight);

  struct Request {
    std::uint64_t index = 0;
    std::optional<Foresight> answer;
  };

  Strategy& strategy_;
  const SearchSpace& space_;
  Executor& executor_;
  std::deque<Request> requests_;  // not yet told, in the order of asking
  std::unordered_set<std::uint64_t> requested_;
  std::shared_ptr<Lookahead*> self_;  // for answers that may come after its end
};

}  // namespace tunebook
