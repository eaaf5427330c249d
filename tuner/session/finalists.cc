#include "session/finalists.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "core/statistics.h"

namespace tunebook {
namespace {

const TrialRecord* trial_of(const std::vector<TrialRecord>& trials, const Configuration& configuration) {
  const auto found = std::find_if(trials.begin(), trials.end(),
                                  [&](const TrialRecord& trial) { return trial.configuration == configuration; });
  return found == trials.end() ? nullptr : &*found;
}

FinalistRecord summarise(const Finalist& finalist, const std::vector<TrialRecord>& trials) {
  FinalistRecord record;
  record.configuration = finalist.configuration;
  record.process_medians_us = finalist.process_medians_us;
  record.median_us = median(finalist.process_medians_us);
  const Interval interval = median_interval(finalist.process_medians_us);
  record.ci_low_us = interval.low;
  record.ci_high_us = interval.high;
  if (!finalist.process_energies_j.empty()) record.energy_j = median(finalist.process_energies_j);
  if (const TrialRecord* trial = trial_of(trials, finalist.configuration)) {
    const Resources& resources = trial->resources;
    record.registers = resources.registers;
    if (resources.shared_static_bytes >= 0 || resources.shared_dynamic_bytes >= 0) {
      record.shared_bytes = std::max<std::int64_t>(0, resources.shared_static_bytes) +
                            std::max<std::int64_t>(0, resources.shared_dynamic_bytes);
    }
  }
  return record;
}

bool tied(const std::vector<double>& candidate, const std::vector<double>& best) {
  if (median(candidate) > median(best) * kTieMedian) return false;
  const std::size_t processes = std::min(candidate.size(), best.size());
  if (processes < 2) return median(candidate) <= median(best) * kTieRatio;
  const std::span<const double> x(candidate.data(), processes);
  const std::span<const double> y(best.data(), processes);
  return paired_ratio(x, y).interval.low < kTieRatio;
}

// A finalist with what decides about it.
struct Contender {
  FinalistRecord record;
  std::vector<double> values;  // one per process
};

// Unknown resources come last.
std::int64_t or_worst(std::int64_t value) { return value < 0 ? std::numeric_limits<std::int64_t>::max() : value; }

bool preferred(const FinalistRecord& x, const FinalistRecord& y) {
  if (x.registers != y.registers) return or_worst(x.registers) < or_worst(y.registers);
  if (x.shared_bytes != y.shared_bytes) return or_worst(x.shared_bytes) < or_worst(y.shared_bytes);
  return x.configuration.canonical() < y.configuration.canonical();
}

// The first finalist is the winner.
void take_first(WinnerRecord& winner) {
  const FinalistRecord& first = winner.finalists.front();
  winner.configuration = first.configuration;
  winner.median_us = first.median_us;
  winner.ci_low_us = first.ci_low_us;
  winner.ci_high_us = first.ci_high_us;
  winner.energy_j = first.energy_j;
}

}  // namespace

std::optional<double> objective_value(const TrialRecord& trial, Objective objective) {
  return objective == Objective::energy ? trial.energy_j : trial.median_us;
}

std::vector<TrialRecord> best_trials(const std::vector<TrialRecord>& trials, std::size_t count, Objective objective) {
  std::vector<TrialRecord> chosen;
  for (const TrialRecord& trial : trials) {
    if (trial.outcome == Outcome::ok && objective_value(trial, objective)) chosen.push_back(trial);
  }
  std::sort(chosen.begin(), chosen.end(), [&](const TrialRecord& x, const TrialRecord& y) {
    const double value_x = *objective_value(x, objective), value_y = *objective_value(y, objective);
    return value_x != value_y ? value_x < value_y : x.order < y.order;
  });
  if (chosen.size() > count) chosen.resize(count);
  return chosen;
}

std::vector<TrialRecord> choose_finalists(const std::vector<TrialRecord>& trials, int count, Objective objective) {
  std::vector<TrialRecord> chosen = best_trials(trials, kMostFinalists, objective);
  const auto within = [&](std::size_t place, double factor) {
    return *objective_value(chosen[place], objective) <= *objective_value(chosen.front(), objective) * factor;
  };
  std::size_t taken = 0;
  while (taken < chosen.size() && within(taken, taken < static_cast<std::size_t>(std::max(count, 0)) ? kFinalistMedian : kFinalistNear)) {
    ++taken;
  }
  chosen.resize(taken);
  return chosen;
}

std::optional<BaselineRatio> baseline_ratio(const BaselineRecord& baseline, const WinnerRecord& winner) {
  if (baseline.process_medians_us.empty() || winner.finalists.empty()) return std::nullopt;
  const std::vector<double>& times = winner.finalists.front().process_medians_us;
  const std::size_t processes = std::min(times.size(), baseline.process_medians_us.size());
  if (processes == 0) return std::nullopt;
  const std::span<const double> x(baseline.process_medians_us.data(), processes);
  const std::span<const double> y(times.data(), processes);
  if (processes < 2) return BaselineRatio{median(x) / median(y), std::nullopt};
  const Ratio ratio = paired_ratio(x, y);
  return BaselineRatio{ratio.ratio, std::pair(ratio.interval.low, ratio.interval.high)};
}

std::optional<WinnerRecord> decide_winner(const std::vector<Finalist>& finalists, const std::vector<TrialRecord>& trials,
                                          Objective objective) {
  std::vector<Contender> contenders;
  for (const Finalist& finalist : finalists) {
    const std::vector<double>& values = objective == Objective::energy ? finalist.process_energies_j : finalist.process_medians_us;
    if (values.empty() || finalist.process_medians_us.empty()) continue;
    contenders.push_back({summarise(finalist, trials), values});
  }
  if (contenders.empty()) return std::nullopt;
  const auto best = std::min_element(contenders.begin(), contenders.end(),
                                     [](const Contender& x, const Contender& y) { return median(x.values) < median(y.values); });
  const std::vector<double> best_values = best->values;
  for (Contender& contender : contenders) contender.record.in_tie_set = tied(contender.values, best_values);
  best->record.in_tie_set = true;
  std::stable_sort(contenders.begin(), contenders.end(), [](const Contender& x, const Contender& y) {
    if (x.record.in_tie_set != y.record.in_tie_set) return x.record.in_tie_set;
    return x.record.in_tie_set ? preferred(x.record, y.record) : median(x.values) < median(y.values);
  });

  WinnerRecord winner;
  winner.objective = objective_name(objective);
  for (Contender& contender : contenders) winner.finalists.push_back(std::move(contender.record));
  take_first(winner);
  return winner;
}

TrialRecord measured_again(const TrialRecord& trial, const Finalist& finalist) {
  TrialRecord again = trial;
  again.reused = false;
  again.samples_us = finalist.process_medians_us;
  again.median_us = median(again.samples_us);
  again.min_us = *std::min_element(again.samples_us.begin(), again.samples_us.end());
  const Interval interval = median_interval(again.samples_us);
  again.ci_low_us = interval.low;
  again.ci_high_us = interval.high;
  return again;
}

void keep_if_tied(WinnerRecord& winner, const Configuration& configuration) {
  const auto found = std::find_if(winner.finalists.begin(), winner.finalists.end(), [&](const FinalistRecord& finalist) {
    return finalist.in_tie_set && finalist.configuration == configuration;
  });
  if (found == winner.finalists.end()) return;
  std::rotate(winner.finalists.begin(), found, found + 1);
  take_first(winner);
}

}  // namespace tunebook
