#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "search/space.h"

namespace tunebook {

// A configuration of a space and what somebody predicts for it; less is better.
struct PredictedIndex {
  std::int64_t score = 0;
  std::uint64_t index = 0;
  friend auto operator<=>(const PredictedIndex&, const PredictedIndex&) = default;
};

// Predicts from a configuration's value indices.
using RowPredictor = std::function<std::int64_t(std::span<const std::uint16_t> row)>;

// A prediction takes some 20 us (60 expressions, 200 trees), so that a search for the best takes
// some 0.2 s. It is a number of predictions, not a time, so that every machine finds the same
// configurations.
inline constexpr std::size_t kPredictions = 10'000;

// The `count` configurations of the space that are predicted to be best, by (score, index)
// ascending; at most `predictions` of them are predicted. A space of up to that size is predicted
// as a whole. Of a larger one `starts` and a sample that is evenly spread over the indices are
// predicted, with half of the predictions, and then the neighbours (one parameter changed) of the
// best that were not expanded yet. Of configurations with equal scores only the first counts as
// long as there are others: they cannot be told apart, and trying all of them teaches little.
// Deterministic.
std::vector<PredictedIndex> least_predicted(const SearchSpace& space, const RowPredictor& predict,
                                            std::size_t count,
                                            std::span<const std::uint64_t> starts = {},
                                            std::size_t predictions = kPredictions);

// The same choice among given configurations.
std::vector<PredictedIndex> least_of(std::vector<PredictedIndex> predicted, std::size_t count);

}  // namespace tunebook
