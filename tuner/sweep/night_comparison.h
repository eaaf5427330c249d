#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "reports/gate.h"
#include "sweep/plan.h"
#include "sweep/session_index.h"

namespace tunebook {

// The smallest change that counts, as `compare` has it unless it is told otherwise.
inline constexpr double kNightThreshold = reports::GateItem{}.gate;

// The winner of a session of this sweep beside the one that the book had before for the same kernel name, problem, device, method and objective.
struct NightComparison {
  std::size_t item = 0;
  std::string objective = "time";
  double before_us = 0, now_us = 0;                     // medians of the process medians
  std::optional<double> before_j, now_j;                // of sessions that look for the least energy
  std::size_t before_processes = 0, now_processes = 0;
  bool same_configuration = false;
  double gate = kNightThreshold;                        // the threshold, or the item's historical noise where that is larger
  NightNoise noise;
  reports::Judgement judgement;                         // change: of the times, now over before, less 1

  reports::Verdict verdict() const { return judgement.verdict; }
  nlohmann::ordered_json to_json(const FrozenPlan& plan) const;
};

// Judges all items of a night together, by the statistics of `compare` (reports/gate.h). `results`: by item of the plan, what `tune --json`
// said; null for an item that no session ended for. Items that have no winner before or now are left out. One process a side has no
// spread: such an item is inconclusive, whatever the change. Sessions for the least energy are judged by time, as in `compare`.
std::vector<NightComparison> compare_nights(const FrozenPlan& plan, const std::vector<const nlohmann::ordered_json*>& results);

// Those of a verdict, the largest change first.
std::vector<NightComparison> with_verdict(const std::vector<NightComparison>& comparisons, reports::Verdict verdict);

// How much an item moved from night to night before `before` (seconds since 1970): by the last session of each date (UTC), as in `compare`.
NightNoise night_noise(const SweepItem& item, const ItemContext& context, const SessionIndex& index, double before);

// For people, lines that begin with two spaces; "" if nothing was compared. Of what is inconclusive only a slowdown
// beyond the gate is named that cannot be tested, or that would not be taken for chance if it were the only item.
std::string verdicts_text(const FrozenPlan& plan, const std::vector<NightComparison>& comparisons);
// For summaries: "verdicts" {name: count}, "regressions" and "inconclusive" [NightComparison].
void add_verdicts(nlohmann::ordered_json& json, const FrozenPlan& plan, const std::vector<NightComparison>& comparisons);

}  // namespace tunebook
