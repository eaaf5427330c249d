#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "search/strategy.h"

namespace tunebook {

// Outcomes reach the strategy in the order of its proposals, whatever finished first, and each only when the strategy needs it to go on. What
// it proposes then depends on the outcomes alone, not on when they came: a session that is taken up again, whose first answers are in the book
// already, proposes what it proposed before.
class OrderedOutcomes {
 public:
  // A proposal, by its order and its index in the space.
  void expect(std::int64_t order, std::uint64_t index) { waiting_.push_back({order, index, std::nullopt}); }
  // Proposals that the strategy was not told of yet.
  std::size_t untold() const { return waiting_.size(); }
  // Nothing for orders that are not expected.
  void add(std::int64_t order, const Observation& observation);
  // Tells the next one. False, and nothing told, if it is not there yet.
  bool tell_next(Strategy& strategy);

 private:
  struct Waiting {
    std::int64_t order;
    std::uint64_t index;
    std::optional<Observation> observation;
  };
  std::deque<Waiting> waiting_;
};

}  // namespace tunebook
