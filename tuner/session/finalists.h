#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "db/store.h"
#include "session/executor.h"

namespace tunebook {

// A candidate's ratio to the winner may reach down to this and still count as tied, if its median is also near.
inline constexpr double kTieRatio = 1.005;
inline constexpr double kTieMedian = 1.01;

// A trial slower than the best of the first pass by this factor is no finalist.
inline constexpr double kFinalistMedian = 1.25;

// The trials worth a second look: of those that are ok and within kFinalistMedian of the best, the `count` fastest.
std::vector<TrialRecord> choose_finalists(const std::vector<TrialRecord>& trials, int count);

// Winner and tie set from per-process medians. The tie set holds those whose ratio to the fastest (paired by process, 95 %
// t interval on logarithms) reaches below kTieRatio and whose median lies within kTieMedian; among them the winner has the
// fewest registers, then the least shared memory, then the first canonical text. `finalists` without medians are left out;
// with none left the result is empty. Medians and intervals are over the process medians.
std::optional<WinnerRecord> decide_winner(const std::vector<Finalist>& finalists, const std::vector<TrialRecord>& trials);

}  // namespace tunebook
