#include "search/genetic.h"

#include <algorithm>
#include <unordered_set>

#include "search/hill_climb.h"
#include "search/learning_strategy.h"
#include "search/neighbourhood.h"
#include "search/portable_math.h"

namespace tunebook {
namespace {

class Genetic final : public LearningStrategy {
 public:
  Genetic(const SearchSpace& space, std::uint64_t seed, const GeneticSettings& settings)
      : LearningStrategy(space, seed, static_cast<std::size_t>(settings.untold)), settings_(settings), neighbourhood_(space),
        climb_(space, random_) {}

 private:
  struct Individual {
    std::uint64_t index = 0;
    double value = kFailed;
    friend bool operator<(const Individual& x, const Individual& y) {
      return x.value != y.value ? x.value < y.value : x.index < y.index;
    }
  };

  std::optional<std::uint64_t> propose() override {
    const auto size = static_cast<std::size_t>(settings_.population);
    if (started_ < size) {
      ++started_;
      return random_untaken();
    }
    constexpr int kTries = 8;
    for (int n = 0; n < kTries; ++n) {
      if (climbing_) {
        const auto next = climb_.next([this](std::uint64_t index) { return known(index); },
                                      [this](std::uint64_t index) { return taken(index); });
        if (next) return next;
        if (!climb_.done()) return std::nullopt;
        climbing_ = false;
        bred_ = 0;
      }
      if (bred_ < size) {
        ++bred_;
        return child();
      }
      if (untold() > 0) return std::nullopt;
      select(size);
      bred_ = 0;
      if (settings_.climb > 0 && !population_.empty() && climbed_.insert(population_.front().index).second &&
          population_.front().value < kFailed) {
        climb_.start(population_.front().index, population_.front().value);
        climbing_ = true;
      }
    }
    return random_untaken();
  }

  void select(std::size_t size) {
    std::sort(population_.begin(), population_.end());
    if (population_.size() > size) population_.resize(size);
  }

  std::uint64_t child() {
    constexpr int kTries = 10;
    if (population_.size() < 2) return random_untaken();
    std::sort(population_.begin(), population_.end());
    std::vector<std::uint16_t> mother(space_.parameter_count());
    std::vector<std::uint16_t> father(space_.parameter_count());
    for (int n = 0; n < kTries; ++n) {
      space_.row(parent(), mother);
      space_.row(parent(), father);
      const std::size_t cut = random_.below(mother.size() + 1);
      std::copy(father.begin() + static_cast<std::ptrdiff_t>(cut), father.end(), mother.begin() + static_cast<std::ptrdiff_t>(cut));
      const std::vector<std::size_t>& free = neighbourhood_.free_parameters();
      // The more tries were in vain, the more is changed.
      for (int mutations = n; (mutations > 0 || random_.uniform() < settings_.mutation) && !free.empty(); --mutations) {
        const std::size_t p = free[random_.below(free.size())];
        mother[p] = static_cast<std::uint16_t>(random_.below(space_.domain_size(p)));
        if (mutations <= 0) break;
      }
      const std::optional<std::uint64_t> index = neighbourhood_.repair(mother, random_);
      if (index && !taken(*index)) return *index;
    }
    return random_untaken();  // an immigrant
  }

  std::uint64_t parent() {
    // Inverse of the distribution function of Beta(1, b): 1 - (1 - u)^(1 / b).
    const double u = random_.uniform();
    const double position = 1 - portable_exp(portable_log(1 - u) / settings_.selection);
    const auto size = static_cast<double>(population_.size());
    return population_[static_cast<std::size_t>(std::min(position * size, size - 1))].index;
  }

  void learn(std::uint64_t index, Outcome, std::optional<double> value) override {
    if (climbing_) climb_.tell(index, value.value_or(kFailed));
    if (value) population_.push_back({index, *value});
    constexpr std::size_t kKept = 4;  // times the population, between two selections
    if (population_.size() > kKept * static_cast<std::size_t>(settings_.population)) select(static_cast<std::size_t>(settings_.population));
  }

  GeneticSettings settings_;
  Neighbourhood neighbourhood_;
  HillClimb climb_;
  std::vector<Individual> population_;
  std::size_t started_ = 0;
  std::size_t bred_ = 0;
  bool climbing_ = false;
  std::unordered_set<std::uint64_t> climbed_;
};

}  // namespace

std::unique_ptr<Strategy> make_genetic(const SearchSpace& space, std::uint64_t seed, const GeneticSettings& settings) {
  return std::make_unique<Genetic>(space, seed, settings);
}

}  // namespace tunebook
