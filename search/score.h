#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/recording.h"
#include "search/strategy.h"

namespace tunebook {

// A recorded space as strategies are judged on it: ranks of its times, the budget and the random baseline, in evaluations
// (Willemsen et al. 2024, doi 10.1016/j.future.2024.05.021, which judges in seconds).
class ScoredSpace {
 public:
  // Throws InputError if the recording has no time at all.
  explicit ScoredSpace(const Recording& recording);

  const std::string& name() const { return name_; }
  const SearchSpace& space() const { return space_; }
  std::uint64_t valid() const { return space_.size(); }      // N_all
  std::uint64_t timed() const { return values_.size(); }     // N
  double optimum() const { return values_.front(); }
  double median_time() const { return median_; }
  // Evaluations k from start() to budget() count.
  std::uint64_t start() const { return start_; }
  std::uint64_t budget() const { return budget_; }

  // What random search is expected to have found after k >= 1 evaluations.
  double baseline(std::uint64_t k) const;
  // By rank, the best is 0; ranks from timed() on (nothing found yet) give the worst.
  double value(std::uint64_t rank) const;
  // Number of configurations that are faster; timed() if it has no time.
  std::uint64_t rank(std::uint64_t index) const { return ranks_[static_cast<std::size_t>(index)]; }
  // What the strategy is told.
  Observation observe(std::uint64_t index) const;
  // What a compiler would say of it. Only where resources were recorded.
  bool has_resources() const { return !foresights_.empty(); }
  const Foresight& foresee(std::uint64_t index) const { return foresights_[static_cast<std::size_t>(index)]; }

 private:
  std::uint64_t evaluations_to(double fraction) const;

  std::string name_;
  SearchSpace space_;
  std::vector<double> values_;         // times in us, ascending
  std::vector<std::uint32_t> ranks_;   // of each configuration
  std::vector<Outcome> outcomes_;
  std::vector<Foresight> foresights_;  // empty if no resources were recorded
  double median_ = 0;
  std::uint64_t start_ = 1;
  std::uint64_t budget_ = 1;
};

// One run of a strategy: after evaluation `at`, the best so far had rank `rank`. Only improvements.
struct Trajectory {
  struct Step {
    std::uint32_t at = 0;
    std::uint32_t rank = 0;
  };
  std::vector<Step> steps;
  std::uint64_t evaluations = 0;   // made; fewer than asked for if the optimum was found or the space was exhausted
  std::uint64_t foreseen = 0;      // configurations that were compiled ahead, whether evaluated or not
  double seconds = 0;              // that the strategy itself took
};
// Runs until `evaluations` were told, with `in_flight` proposals not yet told at any time (as far as the strategy allows), or until
// the optimum was found. With `foresight` and where resources were recorded, the strategy may ask for those. Throws std::logic_error if
// the strategy proposes an index twice, or nothing although it is not exhausted.
Trajectory run_strategy(Strategy& strategy, const ScoredSpace& space, std::uint64_t evaluations, std::size_t in_flight, bool foresight = true);

struct ScoreEstimate {
  double value = 0;
  double low = 0, high = 0;  // 95 % percentile bootstrap over the seeds
};

// One strategy on one space over many seeds.
struct StrategyScore {
  std::string strategy;
  std::string space;
  std::uint64_t budget = 0;
  std::size_t seeds = 0;
  ScoreEstimate performance;                                // P
  std::optional<double> evaluations_to_5_percent;      // median; empty: not reached by half of the runs
  double median_low = 0, median_high = 0;              // its 95 % interval from order statistics; infinity where not reached
  std::uint64_t horizon = 0;                           // evaluations that were made at most
  std::vector<std::pair<std::uint64_t, ScoreEstimate>> best_over_optimum;  // after 50, 100, 200, 500 evaluations
  double milliseconds_per_proposal = 0;
  double foreseen_per_proposal = 0;                    // configurations compiled ahead
  // Mean-rank curve: best time over the optimum after so many evaluations, at some 60 evaluations up to the horizon.
  std::vector<std::pair<std::uint64_t, double>> curve;
};

// A space whose budget is smaller is shown and not counted in means: its score is chance.
inline constexpr std::uint64_t kLeastBudget = 20;

// Means of one strategy over spaces; intervals from those of the spaces, taken as independent.
struct StrategyMean {
  std::string strategy;
  std::size_t spaces = 0;
  ScoreEstimate performance;
  std::vector<std::pair<std::uint64_t, ScoreEstimate>> best_over_optimum;
  std::optional<double> evaluations_to_5_percent;  // median over the spaces of their medians; empty: infinite
};
// Of the scores with a budget of at least kLeastBudget, in the order of their strategies' first appearance.
std::vector<StrategyMean> mean_scores(const std::vector<StrategyScore>& scores);

// Evaluations that a score looks at: the budget, and the marks of best/optimum.
std::uint64_t score_horizon(const ScoredSpace& space);
StrategyScore score_strategy(const std::string& strategy, const ScoredSpace& space, const std::vector<Trajectory>& runs);

// P alone, of mean ranks at each k from start to budget.
double performance(const ScoredSpace& space, const std::vector<const Trajectory*>& runs);

}  // namespace tunebook
