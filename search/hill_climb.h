#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_set>
#include <vector>

#include "core/random.h"
#include "search/neighbourhood.h"

namespace tunebook {

// Goes from a configuration to better neighbours (Hamming, in random order, the first better one) until none is better, with
// several neighbours in flight.
class HillClimb {
 public:
  HillClimb(const SearchSpace& space, Random& random) : neighbourhood_(space), random_(random) {}

  void start(std::uint64_t index, double value);
  // A neighbour to try; empty if all were. `known` gives what was told of an index, `taken` whether it need not be tried.
  std::optional<std::uint64_t> next(const std::function<std::optional<double>(std::uint64_t)>& known,
                                    const std::function<bool(std::uint64_t)>& taken);
  // Of any index; infinity for a failure.
  void tell(std::uint64_t index, double value);
  // No neighbour is left to try or in flight.
  bool done() const { return queue_.empty() && in_flight_.empty(); }
  std::uint64_t index() const { return index_; }
  double value() const { return value_; }

 private:
  void move(std::uint64_t index, double value);

  Neighbourhood neighbourhood_;
  Random& random_;
  std::uint64_t index_ = 0;
  double value_ = 0;
  std::vector<std::uint64_t> queue_;
  std::unordered_set<std::uint64_t> in_flight_;
};

}  // namespace tunebook
