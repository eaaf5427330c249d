#include "search/differential_evolution.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "search/learning_strategy.h"
#include "search/neighbourhood.h"

namespace tunebook {
namespace {

class DifferentialEvolution final : public LearningStrategy {
 public:
  DifferentialEvolution(const SearchSpace& space, std::uint64_t seed, const DifferentialEvolutionSettings& settings)
      : LearningStrategy(space, seed, static_cast<std::size_t>(settings.untold)), settings_(settings), neighbourhood_(space) {}

 private:
  struct Member {
    std::uint64_t index = 0;
    double value = kFailed;
    bool in_flight = false;  // a rival is
  };

  std::optional<std::uint64_t> propose() override {
    const auto size = static_cast<std::size_t>(settings_.population);
    if (started_ < size) {
      const std::uint64_t index = random_untaken();
      rivals_[index] = started_++;
      return index;
    }
    if (members_.size() < 4) return untold() > 0 ? std::nullopt : std::optional<std::uint64_t>(random_untaken());
    // Rivals of the next member whose last one is settled.
    constexpr int kTries = 12;
    for (std::size_t n = 0; n < members_.size(); ++n) {
      const std::size_t target = cursor_;
      cursor_ = (cursor_ + 1) % members_.size();
      if (members_[target].in_flight) continue;
      for (int t = 0; t < kTries; ++t) {
        const std::optional<std::uint64_t> index = rival(target, t);
        if (!index) continue;
        if (const std::optional<double> value = known(*index)) {
          if (*value < members_[target].value) members_[target] = {*index, *value};
          continue;
        }
        if (taken(*index)) continue;
        rivals_[*index] = target;
        members_[target].in_flight = true;
        return index;
      }
    }
    // The population has collapsed: fresh blood for the worst.
    const auto worst = std::max_element(members_.begin(), members_.end(),
                                        [](const Member& x, const Member& y) { return x.value < y.value; });
    const std::uint64_t index = random_untaken();
    worst->value = kFailed;
    rivals_[index] = static_cast<std::size_t>(worst - members_.begin());
    return index;
  }

  std::optional<std::uint64_t> rival(std::size_t target, int attempt) {
    const auto best = std::min_element(members_.begin(), members_.end(),
                                       [](const Member& x, const Member& y) { return x.value < y.value; });
    std::vector<std::uint16_t> base(space_.parameter_count()), x(base.size()), y(base.size()), row(base.size());
    space_.row(best->index, base);
    space_.row(members_[random_.below(members_.size())].index, x);
    space_.row(members_[random_.below(members_.size())].index, y);
    space_.row(members_[target].index, row);
    const std::vector<std::size_t>& free = neighbourhood_.free_parameters();
    if (free.empty()) return std::nullopt;
    const std::size_t forced = free[random_.below(free.size())];
    for (const std::size_t p : free) {
      if (p != forced && random_.uniform() >= settings_.crossover) continue;
      const double mutant = base[p] + settings_.factor * (static_cast<double>(x[p]) - static_cast<double>(y[p]));
      const double last = static_cast<double>(space_.domain_size(p) - 1);
      row[p] = static_cast<std::uint16_t>(std::clamp(std::floor(mutant + 0.5), 0.0, last));
    }
    // Differences vanish as the population draws together; a parameter at random keeps it going.
    if (attempt > 2) row[forced] = static_cast<std::uint16_t>(random_.below(space_.domain_size(forced)));
    return neighbourhood_.repair(row, random_);
  }

  void learn(std::uint64_t index, Outcome, std::optional<double> value) override {
    const auto found = rivals_.find(index);
    if (found == rivals_.end()) {
      if (value) members_.push_back({index, *value});  // told from outside
      return;
    }
    const std::size_t target = found->second;
    rivals_.erase(found);
    if (first_told_ < static_cast<std::size_t>(settings_.population)) {
      ++first_told_;
      if (value) members_.push_back({index, *value});
      return;
    }
    members_[target].in_flight = false;
    if (value && *value <= members_[target].value) members_[target] = {index, *value};
  }

  DifferentialEvolutionSettings settings_;
  Neighbourhood neighbourhood_;
  std::vector<Member> members_;
  std::unordered_map<std::uint64_t, std::size_t> rivals_;  // proposals in flight and whom they challenge
  std::size_t started_ = 0;
  std::size_t first_told_ = 0;
  std::size_t cursor_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_differential_evolution(const SearchSpace& space, std::uint64_t seed,
                                                      const DifferentialEvolutionSettings& settings) {
  return std::make_unique<DifferentialEvolution>(space, seed, settings);
}

}  // namespace tunebook
