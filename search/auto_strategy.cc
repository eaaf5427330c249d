#include "search/auto_strategy.h"

#include "search/learning_strategy.h"

namespace tunebook {
namespace {

class Auto final : public LearningStrategy {
 public:
  Auto(const SearchSpace& space, std::uint64_t seed, const AutoSettings& settings, const SurrogateSettings& surrogate,
       const GeneticSettings& genetic)
      : LearningStrategy(space, seed, static_cast<std::size_t>(settings.untold)), settings_(settings),
        surrogate_(make_surrogate(space, seed, surrogate)), genetic_(make_genetic(space, seed, genetic)) {}

  std::optional<double> expected_improvement() const override { return surrogate_->expected_improvement(); }
  void use_foresight() override { surrogate_->use_foresight(); }
  std::vector<std::uint64_t> prospects() const override { return surrogate_->prospects(); }
  void foresee(std::uint64_t index, const Foresight& foresight) override {
    surrogate_->foresee(index, foresight);
    if (foresight.outcome == Outcome::ok || taken(index)) return;
    genetic_->tell(index, {foresight.outcome, std::nullopt});
    exclude(index);
  }

 private:
  std::optional<std::uint64_t> propose() override {
    const bool turns = evaluations_ >= settings_.least && barren_ >= settings_.barren;
    const bool surrogate_turn = !turns || ++turn_ % static_cast<int>(settings_.turn) == 0;
    for (const bool surrogate : {surrogate_turn, !surrogate_turn}) {
      Strategy& own = surrogate ? *surrogate_ : *genetic_;
      const std::vector<std::uint64_t> asked = own.ask(1);
      if (asked.empty()) {
        if (surrogate && !own.prospects().empty()) {
          if (turns) --turn_;  // it still is the surrogate's
          return std::nullopt;
        }
        if (!turns) break;
        continue;
      }
      (surrogate ? *genetic_ : *surrogate_).exclude(asked.front());
      return asked.front();
    }
    if (untold() > 0) return std::nullopt;
    const std::uint64_t index = random_untaken();
    excluded(index);
    return index;
  }

  void learn(std::uint64_t index, Outcome outcome, std::optional<double> value) override {
    ++evaluations_;
    ++barren_;
    if (value && (!best_ || *value < *best_)) {
      best_ = value;
      barren_ = 0;
    }
    // The parts take their own logarithms.
    Observation observation{outcome, std::nullopt};
    if (value) observation.value = raw_value();
    surrogate_->tell(index, observation);
    genetic_->tell(index, observation);
  }

  void excluded(std::uint64_t index) override {
    surrogate_->exclude(index);
    genetic_->exclude(index);
  }

  AutoSettings settings_;
  std::unique_ptr<Strategy> surrogate_;
  std::unique_ptr<Strategy> genetic_;
  std::optional<double> best_;
  double evaluations_ = 0;
  double barren_ = 0;
  int turn_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_auto(const SearchSpace& space, std::uint64_t seed, const AutoSettings& settings,
                                    const SurrogateSettings& surrogate, const GeneticSettings& genetic) {
  return std::make_unique<Auto>(space, seed, settings, surrogate, genetic);
}

}  // namespace tunebook
