#include "search/least_predicted.h"

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "core/random.h"
#include "search/neighbourhood.h"

namespace tunebook {
namespace {

// Any number will do, but always the same one.
constexpr std::uint64_t kSampleSeed = 20;

class Descent {
 public:
  Descent(const SearchSpace& space, const RowPredictor& predict, std::size_t predictions)
      : space_(space),
        predict_(predict),
        predictions_(predictions),
        neighbourhood_(space),
        row_(space.parameter_count()) {}

  std::vector<PredictedIndex> run(std::span<const std::uint64_t> starts) {
    if (space_.size() <= predictions_) {
      for (std::uint64_t index = 0; index < space_.size(); ++index) predict(index);
      return std::move(predicted_);
    }
    for (const std::uint64_t index : starts) predict(index);
    sample();
    expand_best();
    return std::move(predicted_);
  }

 private:
  bool over() const { return predicted_.size() >= predictions_; }

  void predict(std::uint64_t index) {
    if (over() || !seen_.insert(index).second) return;
    space_.row(index, row_);
    predicted_.push_back({predict_(row_), index});
    open_.push(predicted_.back());
  }

  // One at random from each of as many equal stretches: neighbours in the order of indices differ
  // in the last parameters only.
  void sample() {
    Random random(kSampleSeed);
    const std::uint64_t strata = predictions_ / 2;
    const std::uint64_t width = space_.size() / strata, longer = space_.size() % strata;
    std::uint64_t begin = 0;
    for (std::uint64_t i = 0; i < strata; ++i) {
      const std::uint64_t length = width + (i < longer ? 1 : 0);
      predict(begin + random.below(length));
      begin += length;
    }
  }

  void expand_best() {
    std::vector<std::uint64_t> neighbours;
    while (!over() && !open_.empty()) {
      const std::uint64_t index = open_.top().index;
      open_.pop();
      neighbourhood_.hamming(index, neighbours);
      for (const std::uint64_t neighbour : neighbours) predict(neighbour);
    }
  }

  const SearchSpace& space_;
  const RowPredictor& predict_;
  std::size_t predictions_;
  Neighbourhood neighbourhood_;
  std::vector<std::uint16_t> row_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<PredictedIndex> predicted_;
  std::priority_queue<PredictedIndex, std::vector<PredictedIndex>, std::greater<>>
      open_;  // not expanded yet
};

}  // namespace

std::vector<PredictedIndex> least_predicted(const SearchSpace& space, const RowPredictor& predict,
                                            std::size_t count,
                                            std::span<const std::uint64_t> starts,
                                            std::size_t predictions) {
  return least_of(Descent(space, predict, std::max<std::size_t>(predictions, 2)).run(starts),
                  count);
}

std::vector<PredictedIndex> least_of(std::vector<PredictedIndex> predicted, std::size_t count) {
  std::sort(predicted.begin(), predicted.end());
  predicted.erase(std::unique(predicted.begin(), predicted.end()), predicted.end());
  std::vector<PredictedIndex> chosen, equal;
  for (const PredictedIndex& one : predicted) {
    if (chosen.size() == count) break;
    (chosen.empty() || chosen.back().score != one.score ? chosen : equal).push_back(one);
  }
  equal.resize(std::min(equal.size(), count - chosen.size()));
  chosen.insert(chosen.end(), equal.begin(), equal.end());
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace tunebook
