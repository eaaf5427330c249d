#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/objective.h"
#include "db/store.h"
#include "session/executor.h"

namespace tunebook {

// A candidate's ratio to the winner may reach down to this and still count as tied, if its median is also near.
inline constexpr double kTieRatio = 1.005;
inline constexpr double kTieMedian = 1.01;

// A trial slower than the best of the first pass by this factor is no finalist.
inline constexpr double kFinalistMedian = 1.25;

// At most so many finalists, however near they lie.
inline constexpr std::size_t kMostFinalists = 32;
// Whoever is as near the best of the first pass as this is a finalist, also beyond the count: its noise is of this size.
inline constexpr double kFinalistNear = 1.01;

// What the objective makes small: the median time in us, or the energy in J; empty if it was not measured.
std::optional<double> objective_value(const TrialRecord& trial, Objective objective);

// The `count` best trials of those that are ok, the best first, of equal ones the earlier proposal.
std::vector<TrialRecord> best_trials(const std::vector<TrialRecord>& trials, std::size_t count, Objective objective);

// The trials worth a second look: the `count` best within kFinalistMedian of the best, and all others within kFinalistNear, at
// most kMostFinalists.
std::vector<TrialRecord> choose_finalists(const std::vector<TrialRecord>& trials, int count, Objective objective);

// The baseline's time over the winner's, paired by process as ties are; without an interval if there was one process only. Nothing if
// either has no times.
struct BaselineRatio {
  double ratio = 1;  // above 1: the winner is faster
  std::optional<std::pair<double, double>> interval;  // 95 %
};
std::optional<BaselineRatio> baseline_ratio(const BaselineRecord& baseline, const WinnerRecord& winner);

// Winner and tie set from what each process measured. The tie set holds those whose ratio to the best (paired by process, 95 %
// t interval on logarithms) reaches below kTieRatio and whose median lies within kTieMedian; among them the winner has the
// fewest registers, then the least shared memory, then the first canonical text. `finalists` without times (or, with that
// objective, without energies) are left out; with none left the result is empty. Medians and intervals are over the process medians.
std::optional<WinnerRecord> decide_winner(const std::vector<Finalist>& finalists, const std::vector<TrialRecord>& trials,
                                          Objective objective);

// The trial with the times of its finalist, whose process medians are its samples.
TrialRecord measured_again(const TrialRecord& trial, const Finalist& finalist);

// Makes the configuration the winner if it is in the tie set.
void keep_if_tied(WinnerRecord& winner, const Configuration& configuration);

}  // namespace tunebook
