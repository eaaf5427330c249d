#include "search/local_search.h"

#include "search/hill_climb.h"
#include "search/learning_strategy.h"
#include "search/neighbourhood.h"

namespace tunebook {
namespace {

class LocalSearch final : public LearningStrategy {
 public:
  LocalSearch(const SearchSpace& space, std::uint64_t seed, const LocalSearchSettings& settings)
      : LearningStrategy(space, seed, static_cast<std::size_t>(settings.untold)), settings_(settings), neighbourhood_(space),
        climb_(space, random_) {}

 private:
  std::optional<std::uint64_t> propose() override {
    if (sampled_ < static_cast<int>(settings_.samples)) {
      ++sampled_;
      return random_untaken();
    }
    if (!climbing_) {
      if (!best_value_) return untold() > 0 ? std::nullopt : std::optional<std::uint64_t>(random_untaken());  // only failures so far
      begin(best_, *best_value_);
    }
    // Kicks may lead to where everything is known; a random configuration ends that.
    constexpr int kTries = 20;
    for (int n = 0; n < kTries; ++n) {
      if (start_) {
        const std::optional<double> value = known(*start_);
        if (!value) {
          if (!taken(*start_)) return *start_;
          if (untold() > 0) return std::nullopt;  // its outcome is on the way
        }
        const std::uint64_t index = *start_;
        start_.reset();
        if (!value || *value == kFailed) {
          kick();
          continue;
        }
        begin(index, *value);
      }
      const auto next = climb_.next([this](std::uint64_t index) { return known(index); },
                                    [this](std::uint64_t index) { return taken(index); });
      if (next) return next;
      if (!climb_.done()) return std::nullopt;
      if (climb_.value() < incumbent_value_) {
        incumbent_ = climb_.index();
        incumbent_value_ = climb_.value();
        barren_ = 0;
      } else {
        ++barren_;
      }
      kick();
    }
    return random_untaken();
  }

  void begin(std::uint64_t index, double value) {
    climb_.start(index, value);
    if (!climbing_ || fresh_) {
      incumbent_ = index;
      incumbent_value_ = kFailed;
      barren_ = 0;
      fresh_ = false;
    }
    climbing_ = true;
  }

  // Chooses where the next climb starts.
  void kick() {
    if (barren_ >= static_cast<int>(settings_.barren)) {
      fresh_ = true;
      barren_ = 0;
      start_ = random_untaken();
      return;
    }
    std::uint64_t index = incumbent_;
    for (int n = 0; n < static_cast<int>(settings_.kick); ++n) {
      neighbourhood_.hamming(index, neighbours_);
      if (neighbours_.empty()) break;
      index = neighbours_[random_.below(neighbours_.size())];
    }
    start_ = index;
  }

  void learn(std::uint64_t index, Outcome, std::optional<double> value) override {
    if (climbing_) climb_.tell(index, value.value_or(kFailed));
    if (value && (!best_value_ || *value < *best_value_)) {
      best_ = index;
      best_value_ = value;
    }
  }

  LocalSearchSettings settings_;
  Neighbourhood neighbourhood_;
  HillClimb climb_;
  std::vector<std::uint64_t> neighbours_;
  int sampled_ = 0;
  bool climbing_ = false;
  bool fresh_ = false;                     // the next climb starts from a random configuration
  std::optional<std::uint64_t> start_;     // of the next climb
  std::uint64_t incumbent_ = 0;            // best local optimum since the last random start
  double incumbent_value_ = kFailed;
  int barren_ = 0;
  std::uint64_t best_ = 0;
  std::optional<double> best_value_;
};

}  // namespace

std::unique_ptr<Strategy> make_local_search(const SearchSpace& space, std::uint64_t seed, const LocalSearchSettings& settings) {
  return std::make_unique<LocalSearch>(space, seed, settings);
}

}  // namespace tunebook
