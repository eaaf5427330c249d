#include "search/surrogate.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "search/feature_map.h"
#include "search/gaussian_process.h"
#include "search/learning_strategy.h"
#include "search/neighbourhood.h"
#include "search/portable_math.h"

namespace tunebook {
namespace {

class Surrogate final : public LearningStrategy {
 public:
  Surrogate(const SearchSpace& space, std::uint64_t seed, const SurrogateSettings& settings)
      : LearningStrategy(space, seed, static_cast<std::size_t>(settings.untold)), settings_(settings), features_(space, settings.alignment > 0),
        neighbourhood_(space), model_(features_, {settings.length, settings.length_spread, settings.noise, settings.noise_spread}) {}

  std::optional<double> expected_improvement() const override { return expected_improvement_; }

  void use_foresight() override { foresight_ = true; }
  std::vector<std::uint64_t> prospects() const override { return prospects_; }
  void foresee(std::uint64_t index, const Foresight& foresight) override {
    if (std::erase(prospects_, index) == 0 || taken(index)) return;
    if (foresight.outcome != Outcome::ok) {
      ++hopeless_;
      tell(index, {foresight.outcome, std::nullopt});
    } else {
      pool_.push_back({local_bytes(foresight.resources), index});
    }
  }

 private:
  struct Trial {
    std::uint64_t index = 0;
    bool told = false;
    std::optional<double> value;
  };

  std::optional<std::uint64_t> propose() override {
    std::uint64_t index = 0;
    if (trials_.size() - hopeless_ < static_cast<std::size_t>(settings_.initial) || timed_ < 2) {
      const std::optional<std::uint64_t> foreseen = foresight_ ? next_of_pool() : std::nullopt;
      if (!foreseen && !prospects_.empty()) return std::nullopt;
      index = foreseen ? *foreseen : far_from_all();
    } else {
      prepare();
      index = best_candidate();
    }
    note(index);
    return index;
  }

  void note(std::uint64_t index) {
    trials_.push_back({index, false, std::nullopt});
    const std::size_t at = levels_.size();
    levels_.resize(at + features_.size());
    features_.encode(index, levels_.data() + at);
    if (!ready_) return;
    model_.add_point(levels_.data() + at);
    model_trials_.push_back(trials_.size() - 1);
  }

  void learn(std::uint64_t index, Outcome, std::optional<double> value) override {
    std::size_t n = first_untold_;
    while (n < trials_.size() && (trials_[n].told || trials_[n].index != index)) ++n;
    if (n == trials_.size()) note(index);
    trials_[n].told = true;
    trials_[n].value = value;
    while (first_untold_ < trials_.size() && trials_[first_untold_].told) ++first_untold_;
    if (value) {
      ++timed_;
      if (!best_ || *value < *best_) {
        best_ = value;
        if (ready_) add_neighbours(index);
      }
    }
  }

  // What does not fit the registers lies in local memory: a configuration that needs it is rarely among the fast ones, and is not worth
  // one of the few trials before the first model.
  struct Foreseen {
    std::int64_t local_bytes = 0;
    std::uint64_t index = 0;
  };

  static std::int64_t local_bytes(const Resources& resources) {
    return std::max<std::int64_t>(resources.spill_load_bytes, 0) + std::max<std::int64_t>(resources.spill_store_bytes, 0) +
           std::max<std::int64_t>(resources.stack_bytes, 0);
  }

  // The first that needs none, else one of as little as can be. None while prospects wait, or if all are used up.
  std::optional<std::uint64_t> next_of_pool() {
    std::erase_if(pool_, [this](const Foreseen& foreseen) { return taken(foreseen.index); });
    const auto least = std::min_element(pool_.begin(), pool_.end(),
                                        [](const Foreseen& x, const Foreseen& y) { return x.local_bytes < y.local_bytes; });
    const bool found = least != pool_.end() && least->local_bytes == 0;
    if (!found && prospects_.empty() && drawn_levels_.size() < static_cast<std::size_t>(settings_.pool) * features_.size()) draw_prospects();
    if (least == pool_.end() || (!found && !prospects_.empty())) return std::nullopt;
    const std::uint64_t index = least->index;
    pool_.erase(least);
    return index;
  }

  // Each as far as possible from those before, as without foresight. Half of the pool at a time, as the second half is often not needed.
  void draw_prospects() {
    for (int n = 0; n < static_cast<int>(settings_.pool + 1) / 2; ++n) {
      const std::uint64_t index = far_from_all();
      const auto known = [&](const Foreseen& foreseen) { return foreseen.index == index; };
      drawn_levels_.resize(drawn_levels_.size() + features_.size());
      features_.encode(index, drawn_levels_.data() + drawn_levels_.size() - features_.size());
      if (std::find(prospects_.begin(), prospects_.end(), index) != prospects_.end() || std::any_of(pool_.begin(), pool_.end(), known)) continue;
      prospects_.push_back(index);
    }
  }

  // Space-filling start: of some random configurations, the one farthest from all tried.
  std::uint64_t far_from_all() {
    std::uint64_t chosen = random_untaken();
    // Where hardly anything succeeds, being far from what was tried is no use for ever.
    constexpr std::size_t kMostTried = 100;
    if (trials_.size() > kMostTried) return chosen;
    double farthest = -1;
    std::vector<std::uint8_t> levels(features_.size());
    for (int n = 0; n < static_cast<int>(settings_.spread); ++n) {
      const std::uint64_t index = random_untaken();
      features_.encode(index, levels.data());
      double nearest = 1e9;
      for (const std::vector<std::uint8_t>* others : {&levels_, &drawn_levels_}) {
        for (std::size_t at = 0; at < others->size(); at += features_.size()) nearest = std::min(nearest, distance(levels.data(), others->data() + at));
      }
      if (nearest > farthest) {
        farthest = nearest;
        chosen = index;
      }
    }
    return chosen;
  }

  double distance(const std::uint8_t* x, const std::uint8_t* y) const {
    double sum = 0;
    for (std::size_t f = 0; f < features_.size(); ++f) {
      const auto& feature = features_.features()[f];
      sum += x[f] == y[f] ? 0 : feature.ordered ? std::fabs(feature.positions[x[f]] - feature.positions[y[f]]) : 1.0;
    }
    return sum;
  }

  // Fits the model and draws the candidates anew, where it is time to.
  void prepare() {
    const std::size_t told = first_untold_;
    const bool refit = !ready_ || static_cast<double>(told) >= settings_.refit * static_cast<double>(fitted_);
    if (!refit && since_refresh_ < static_cast<int>(settings_.refresh)) return;
    model_.clear();
    choose_points();
    if (refit && fitted_ < static_cast<std::size_t>(settings_.points)) {
      std::vector<std::uint8_t> levels;
      std::vector<double> targets;
      std::vector<std::size_t> told_trials;
      for (const std::size_t t : model_trials_) {
        if (!trials_[t].told) continue;
        told_trials.push_back(t);
        levels.insert(levels.end(), levels_.begin() + static_cast<std::ptrdiff_t>(t * features_.size()),
                      levels_.begin() + static_cast<std::ptrdiff_t>((t + 1) * features_.size()));
      }
      make_targets(told_trials, targets);
      model_.fit(levels, targets, static_cast<int>(settings_.steps));
      fitted_ = told;
    }
    since_refresh_ = 0;
    candidates_.clear();
    known_candidates_.clear();
    for (int n = 0; n < static_cast<int>(settings_.random); ++n) add_candidate(random_untaken());
    const std::vector<std::uint64_t> best = elite();
    for (const std::uint64_t index : best) add_neighbours(index);
    if (!best.empty()) add_pairs(best);
    // After the candidates, which it is cheaper to take along than to add later.
    for (const std::size_t t : model_trials_) model_.add_point(levels_.data() + t * features_.size());
    ready_ = true;
  }

  // Points of the model: all told ones while they are few, else the best and a random selection; and all untold ones.
  void choose_points() {
    std::vector<std::size_t> told;
    for (std::size_t t = 0; t < trials_.size(); ++t) {
      if (trials_[t].told) told.push_back(t);
    }
    const auto limit = static_cast<std::size_t>(settings_.points);
    if (told.size() > limit) {
      const auto slower = [&](std::size_t x, std::size_t y) {
        const double vx = trials_[x].value.value_or(1e9);
        const double vy = trials_[y].value.value_or(1e9);
        return vx != vy ? vx < vy : x < y;
      };
      std::sort(told.begin(), told.end(), slower);
      const std::size_t kept = limit * 2 / 3;
      for (std::size_t n = kept; n < limit; ++n) std::swap(told[n], told[n + random_.below(told.size() - n)]);
      told.resize(limit);
      std::sort(told.begin(), told.end());
    }
    model_trials_ = told;
    for (std::size_t t = first_untold_; t < trials_.size(); ++t) {
      if (!trials_[t].told) model_trials_.push_back(t);
    }
  }

  std::vector<std::uint64_t> elite() const {
    std::vector<std::pair<double, std::uint64_t>> sorted;
    for (const Trial& trial : trials_) {
      if (trial.value) sorted.emplace_back(*trial.value, trial.index);
    }
    const std::size_t count = std::min(sorted.size(), static_cast<std::size_t>(settings_.elite));
    std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count), sorted.end());
    std::vector<std::uint64_t> result;
    for (std::size_t n = 0; n < count; ++n) result.push_back(sorted[n].second);
    return result;
  }

  void add_candidate(std::uint64_t index) {
    if (taken(index) || !known_candidates_.insert(index).second) return;
    std::vector<std::uint8_t> levels(features_.size());
    features_.encode(index, levels.data());
    model_.add_candidate(levels.data());
    candidates_.push_back(index);
  }

  void add_neighbours(std::uint64_t index) {
    neighbourhood_.hamming(index, neighbours_);
    for (const std::uint64_t neighbour : neighbours_) add_candidate(neighbour);
  }

  // Two parameters changed at once, as where one tile size has to grow with the other shrinking.
  void add_pairs(const std::vector<std::uint64_t>& elite) {
    const std::vector<std::size_t>& free = neighbourhood_.free_parameters();
    if (free.size() < 2) return;
    std::vector<std::uint16_t> row(space_.parameter_count());
    for (int n = 0; n < static_cast<int>(settings_.pairs); ++n) {
      space_.row(elite[random_.below(elite.size())], row);
      for (int change = 0; change < 2; ++change) {
        const std::size_t p = free[random_.below(free.size())];
        row[p] = static_cast<std::uint16_t>(random_.below(space_.domain_size(p)));
      }
      if (const auto index = space_.find(std::span<const std::uint16_t>(row))) add_candidate(*index);
    }
  }

  // Log times, slow ones and failures cut to a quantile: how slow they are says nothing about where the fast ones lie. Mean 0; returns
  // the mean that was taken away.
  double make_targets(const std::vector<std::size_t>& trials, std::vector<double>& targets) const {
    std::vector<double> times;
    for (const std::size_t t : trials) {
      if (trials_[t].value) times.push_back(*trials_[t].value);
    }
    std::sort(times.begin(), times.end());
    const double cap = times[static_cast<std::size_t>(settings_.cap * static_cast<double>(times.size() - 1) + 0.5)];
    targets.clear();
    double mean = 0;
    for (const std::size_t t : trials) {
      targets.push_back(trials_[t].value ? std::min(*trials_[t].value, cap) : cap);
      mean += targets.back();
    }
    mean /= static_cast<double>(targets.size());
    for (double& target : targets) target -= mean;
    return mean;
  }

  std::uint64_t best_candidate() {
    ++since_refresh_;
    // Told points come first in the model, then pending ones in the order of proposal; told in that order, so the prefix grows.
    std::vector<std::size_t> told;
    for (const std::size_t t : model_trials_) {
      if (!trials_[t].told) break;
      told.push_back(t);
    }
    std::vector<double> targets;
    const double mean = make_targets(told, targets);
    model_.means(targets, means_);
    const double scale = std::sqrt(model_.scale(targets));
    std::vector<double> failures;
    bool any = false;
    double failing = 0;
    for (const std::size_t t : told) {
      failures.push_back(trials_[t].value ? 0.0 : 1.0);
      failing += failures.back();
      any |= !trials_[t].value;
    }
    failing /= static_cast<double>(failures.size());
    if (any) {
      for (double& failure : failures) failure -= failing;
      model_.means(failures, failure_means_);
    }
    const double goal = *best_ - mean;
    double highest = -1;
    std::optional<std::uint64_t> chosen;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      if (taken(candidates_[c])) continue;
      const double deviation = scale * std::sqrt(static_cast<double>(model_.variances()[c]));
      const double z = (goal - means_[c]) / deviation;
      double gain = deviation * tunebook::expected_improvement(z);
      if (any) {
        // The regression on failures (0 or 1) shares the factorisation; as a probability it has to be cut.
        const double feasible = std::clamp(1 - failing - failure_means_[c], 0.01, 1.0);
        gain *= feasible;
      }
      if (gain > highest) {
        highest = gain;
        chosen = candidates_[c];
      }
    }
    expected_improvement_ = std::max(highest, 0.0);  // of the logarithm: a share, as long as it is small
    return chosen ? *chosen : random_untaken();
  }


  SurrogateSettings settings_;
  FeatureMap features_;
  Neighbourhood neighbourhood_;
  GaussianProcess model_;
  std::vector<Trial> trials_;            // in the order of proposal
  std::vector<std::uint8_t> levels_;     // of the trials
  std::size_t first_untold_ = 0;
  std::size_t timed_ = 0;
  std::optional<double> best_;
  bool ready_ = false;
  std::size_t fitted_ = 0;
  int since_refresh_ = 0;
  std::vector<std::size_t> model_trials_;
  std::vector<std::uint64_t> candidates_;
  std::unordered_set<std::uint64_t> known_candidates_;
  std::vector<std::uint64_t> neighbours_;
  std::vector<double> means_, failure_means_;
  std::optional<double> expected_improvement_;

  bool foresight_ = false;
  std::vector<std::uint64_t> prospects_;
  std::vector<std::uint8_t> drawn_levels_;  // of all that were drawn as prospects
  std::vector<Foreseen> pool_;
  std::size_t hopeless_ = 0;                // trials that ended before they were proposed
};

}  // namespace

std::unique_ptr<Strategy> make_surrogate(const SearchSpace& space, std::uint64_t seed, const SurrogateSettings& settings) {
  return std::make_unique<Surrogate>(space, seed, settings);
}

}  // namespace tunebook
