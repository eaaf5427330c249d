#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "search/strategy.h"

namespace tunebook {

// Outcomes reach the strategy in the order of its proposals, whatever finished first.
class OrderedOutcomes {
 public:
  // A proposal, by its order and its index in the space.
  void expect(std::int64_t order, std::uint64_t index) { waiting_.push_back({order, index, std::nullopt}); }
  // Proposals that the strategy was not told of yet.
  std::size_t untold() const { return waiting_.size(); }
  // Tells what can be told now. Nothing for orders that are not expected.
  void add(std::int64_t order, const Observation& observation, Strategy& strategy);

 private:
  struct Waiting {
    std::int64_t order;
    std::uint64_t index;
    std::optional<Observation> observation;
  };
  std::deque<Waiting> waiting_;
};

}  // namespace tunebook
