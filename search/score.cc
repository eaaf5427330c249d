#include "search/score.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <stdexcept>
#include <unordered_set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/random.h"
#include "core/statistics.h"

namespace tunebook {
namespace {

constexpr std::uint64_t kMarks[] = {50, 100, 200, 500};
constexpr int kBootstrapSamples = 400;
constexpr std::uint64_t kBootstrapSeed = 0x7265'706c'6179;

// Rank of the best after k evaluations.
std::uint64_t rank_after(const Trajectory& run, std::uint64_t k, std::uint64_t none) {
  std::uint64_t rank = none;
  for (const Trajectory::Step& step : run.steps) {
    if (step.at > k) break;
    rank = step.rank;
  }
  return rank;
}

// 95 % percentile bootstrap of a statistic of the runs.
template <typename Statistic>
ScoreEstimate bootstrap(const std::vector<Trajectory>& runs, const Statistic& statistic) {
  std::vector<const Trajectory*> sample;
  for (const Trajectory& run : runs) sample.push_back(&run);
  ScoreEstimate estimate;
  estimate.value = statistic(sample);
  Random random(kBootstrapSeed);
  std::vector<double> values;
  for (int n = 0; n < kBootstrapSamples; ++n) {
    for (const Trajectory*& run : sample) run = &runs[random.below(runs.size())];
    values.push_back(statistic(sample));
  }
  std::sort(values.begin(), values.end());
  estimate.low = values[static_cast<std::size_t>(kBootstrapSamples * 0.025)];
  estimate.high = values[static_cast<std::size_t>(kBootstrapSamples * 0.975) - 1];
  return estimate;
}

}  // namespace

ScoredSpace::ScoredSpace(const Recording& recording) : name_(recording.name()), space_(recording.space()) {
  std::vector<std::optional<double>> times;
  for (std::uint64_t i = 0; i < recording.size(); ++i) {
    const Recording::Entry entry = recording.entry(i);
    outcomes_.push_back(entry.outcome);
    times.push_back(entry.time_us);
    if (entry.time_us) values_.push_back(*entry.time_us);
    if (recording.has_resources()) foresights_.push_back(entry.foresight());
  }
  if (values_.empty()) throw InputError(fmt::format("{}: no configuration has a time: nothing to find", name_));
  std::sort(values_.begin(), values_.end());
  for (const std::optional<double>& time : times) {
    const auto faster = time ? std::lower_bound(values_.begin(), values_.end(), *time) - values_.begin()
                             : static_cast<std::ptrdiff_t>(values_.size());
    ranks_.push_back(static_cast<std::uint32_t>(faster));
  }
  median_ = median(values_);
  start_ = evaluations_to(0.99);
  budget_ = std::max(start_, evaluations_to(0.05));
}

std::uint64_t ScoredSpace::evaluations_to(double fraction) const {
  const double cutoff = optimum() + fraction * (median_ - optimum());
  // First index into the descending values that is at or below the cutoff.
  const auto count = static_cast<double>(timed());
  const auto above = values_.end() - std::upper_bound(values_.begin(), values_.end(), cutoff);
  const double random_evaluations = std::ceil(static_cast<double>(above) / (count + 1 - static_cast<double>(above)));
  const double all = std::ceil(random_evaluations * static_cast<double>(valid()) / count);
  return static_cast<std::uint64_t>(std::clamp(all, 1.0, static_cast<double>(valid())));
}

double ScoredSpace::baseline(std::uint64_t k) const {
  const auto count = static_cast<double>(timed());
  const double draws = std::max(1.0, static_cast<double>(k) * count / static_cast<double>(valid()));
  const double position = std::round(draws * (count + 1) / (draws + 1));
  const auto index = static_cast<std::uint64_t>(std::min(count - 1, position));
  return values_[static_cast<std::size_t>(timed() - 1 - index)];
}

double ScoredSpace::value(std::uint64_t rank) const {
  return values_[static_cast<std::size_t>(std::min<std::uint64_t>(rank, timed() - 1))];
}

Observation ScoredSpace::observe(std::uint64_t index) const {
  Observation observation;
  observation.outcome = outcomes_[static_cast<std::size_t>(index)];
  if (has_time(observation.outcome)) observation.value = value(rank(index));
  return observation;
}

Trajectory run_strategy(Strategy& strategy, const ScoredSpace& space, std::uint64_t evaluations, std::size_t in_flight, bool foresight) {
  Trajectory run;
  std::uint64_t best = space.timed();
  std::deque<std::uint64_t> untold;
  std::unordered_set<std::uint64_t> proposed;
  const auto start = std::chrono::steady_clock::now();
  if (foresight && space.has_resources()) strategy.use_foresight();
  while (run.evaluations < evaluations && best > 0) {
    while (untold.size() < in_flight && proposed.size() < evaluations) {
      const std::vector<std::uint64_t> asked = strategy.ask(1);
      if (asked.empty()) {
        const std::vector<std::uint64_t> prospects = strategy.prospects();
        if (prospects.empty()) break;
        for (const std::uint64_t index : prospects) strategy.foresee(index, space.foresee(index));
        run.foreseen += prospects.size();
        continue;
      }
      for (const std::uint64_t index : asked) {
        if (!proposed.insert(index).second) throw std::logic_error("the strategy proposed a configuration twice");
        untold.push_back(index);
      }
    }
    if (untold.empty()) {
      if (!strategy.exhausted()) throw std::logic_error("the strategy stopped although the space is not exhausted");
      break;
    }
    const std::uint64_t index = untold.front();
    untold.pop_front();
    ++run.evaluations;
    const std::uint64_t rank = space.rank(index);
    if (rank < best) {
      best = rank;
      run.steps.push_back({static_cast<std::uint32_t>(run.evaluations), static_cast<std::uint32_t>(rank)});
    }
    strategy.tell(index, space.observe(index));
  }
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

std::uint64_t score_horizon(const ScoredSpace& space) {
  return std::min(space.valid(), std::max(space.budget(), kMarks[std::size(kMarks) - 1]));
}

double performance(const ScoredSpace& space, const std::vector<const Trajectory*>& runs) {
  // Sum of the ranks at each k by differences, not by looking at every run for every k.
  const auto budget = static_cast<std::size_t>(space.budget());
  std::vector<double> change(budget + 1, 0.0);
  for (const Trajectory* run : runs) {
    double rank = static_cast<double>(space.timed());
    change[0] += rank;
    for (const Trajectory::Step& step : run->steps) {
      if (step.at > budget) break;
      change[step.at] += static_cast<double>(step.rank) - rank;
      rank = static_cast<double>(step.rank);
    }
  }
  double ranks = 0;
  double sum = 0;
  std::uint64_t counted = 0;
  for (std::size_t k = 0; k <= budget; ++k) {
    ranks += change[k];
    if (k < space.start()) continue;
    const double baseline = space.baseline(k);
    if (baseline <= space.optimum()) continue;  // nothing left to gain
    const double found = space.value(static_cast<std::uint64_t>(std::llround(ranks / static_cast<double>(runs.size()))));
    sum += (baseline - found) / (baseline - space.optimum());
    ++counted;
  }
  return counted > 0 ? sum / static_cast<double>(counted) : 0;
}

StrategyScore score_strategy(const std::string& strategy, const ScoredSpace& space, const std::vector<Trajectory>& runs) {
  StrategyScore score;
  score.strategy = strategy;
  score.space = space.name();
  score.budget = space.budget();
  score.seeds = runs.size();
  score.horizon = score_horizon(space);
  score.performance = bootstrap(runs, [&](const auto& sample) { return performance(space, sample); });
  for (const std::uint64_t mark : kMarks) {
    const auto mean_ratio = [&](const std::vector<const Trajectory*>& sample) {
      double sum = 0;
      for (const Trajectory* run : sample) sum += space.value(rank_after(*run, mark, space.timed())) / space.optimum();
      return sum / static_cast<double>(sample.size());
    };
    score.best_over_optimum.emplace_back(mark, bootstrap(runs, mean_ratio));
  }
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> evaluations;
  double seconds = 0;
  double proposals = 0;
  double foreseen = 0;
  for (const Trajectory& run : runs) {
    foreseen += static_cast<double>(run.foreseen);
    double reached = kNever;
    for (const Trajectory::Step& step : run.steps) {
      if (space.value(step.rank) > 1.05 * space.optimum()) continue;
      reached = step.at;
      break;
    }
    evaluations.push_back(reached);
    seconds += run.seconds;
    proposals += static_cast<double>(run.evaluations);
  }
  std::sort(evaluations.begin(), evaluations.end());
  const double lower = evaluations[(evaluations.size() - 1) / 2];
  const double upper = evaluations[evaluations.size() / 2];
  if (std::isfinite(upper)) score.evaluations_to_5_percent = (lower + upper) / 2;
  const Interval interval = median_interval(evaluations);
  score.median_low = interval.low;
  score.median_high = interval.high;
  constexpr double kCurveStep = 1.12;  // ratio of neighbouring evaluations
  for (double at = 1; at <= static_cast<double>(score.horizon); at = std::max(at + 1, std::floor(at * kCurveStep))) {
    const auto k = static_cast<std::uint64_t>(at);
    double ranks = 0;
    for (const Trajectory& run : runs) ranks += static_cast<double>(rank_after(run, k, space.timed()));
    const auto rank = static_cast<std::uint64_t>(std::llround(ranks / static_cast<double>(runs.size())));
    score.curve.emplace_back(k, space.value(rank) / space.optimum());
  }
  score.foreseen_per_proposal = proposals > 0 ? foreseen / proposals : 0;
  score.milliseconds_per_proposal = proposals > 0 ? 1e3 * seconds / proposals : 0;
  return score;
}

namespace {

ScoreEstimate mean_of(const std::vector<ScoreEstimate>& estimates) {
  ScoreEstimate mean;
  double below = 0;
  double above = 0;
  for (const ScoreEstimate& estimate : estimates) {
    mean.value += estimate.value;
    below += (estimate.value - estimate.low) * (estimate.value - estimate.low);
    above += (estimate.high - estimate.value) * (estimate.high - estimate.value);
  }
  const auto count = static_cast<double>(estimates.size());
  mean.value /= count;
  mean.low = mean.value - std::sqrt(below) / count;
  mean.high = mean.value + std::sqrt(above) / count;
  return mean;
}

}  // namespace

std::vector<StrategyMean> mean_scores(const std::vector<StrategyScore>& scores) {
  std::vector<std::string> strategies;
  for (const StrategyScore& score : scores) {
    if (std::find(strategies.begin(), strategies.end(), score.strategy) == strategies.end()) strategies.push_back(score.strategy);
  }
  std::vector<StrategyMean> means;
  for (const std::string& strategy : strategies) {
    std::vector<ScoreEstimate> performances;
    std::vector<std::vector<ScoreEstimate>> ratios(std::size(kMarks));
    std::vector<double> evaluations;
    for (const StrategyScore& score : scores) {
      if (score.strategy != strategy || score.budget < kLeastBudget) continue;
      performances.push_back(score.performance);
      for (std::size_t m = 0; m < ratios.size(); ++m) ratios[m].push_back(score.best_over_optimum[m].second);
      evaluations.push_back(score.evaluations_to_5_percent.value_or(std::numeric_limits<double>::infinity()));
    }
    if (performances.empty()) continue;
    StrategyMean mean;
    mean.strategy = strategy;
    mean.spaces = performances.size();
    mean.performance = mean_of(performances);
    for (std::size_t m = 0; m < ratios.size(); ++m) mean.best_over_optimum.emplace_back(kMarks[m], mean_of(ratios[m]));
    std::sort(evaluations.begin(), evaluations.end());
    const double lower = evaluations[(evaluations.size() - 1) / 2];
    const double upper = evaluations[evaluations.size() / 2];
    if (std::isfinite(upper)) mean.evaluations_to_5_percent = (lower + upper) / 2;
    means.push_back(std::move(mean));
  }
  return means;
}

}  // namespace tunebook
