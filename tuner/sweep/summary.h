#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sweep/night_comparison.h"
#include "sweep/state.h"

namespace tunebook {

// How a run of a sweep ended.
enum class SweepEnd {
  complete,     // every item has its answer, or a reason why not
  deadline,     // the time was over
  interrupted,  // Ctrl-C
  no_room,      // the disk is full
};
std::string_view sweep_end_name(SweepEnd end);

// Of the sessions that the sweep finished: their winners and those before.
std::vector<NightComparison> compare_nights(const SweepState& state);

std::map<ItemStatus, std::size_t> count_items(const SweepState& state);

// 0; 1 if an item failed, found no winner or could not be run, the disk was full or the sweep was interrupted; else 3 if there are
// regressions. Items for which the time did not suffice are no failure, and what is inconclusive is none.
int sweep_exit_code(const SweepState& state, SweepEnd end);

// For machines, one object: "tunebook_sweep_summary" (kSummaryVersion), "sweep" (id), "plan", "book", "started_utc", "ended_utc", "ended"
// (sweep_end_name), "exit_code", "wall_s", "runs", "items" (counts by status), "devices" [{"device", "sessions", "session_s", "busy_s", "available_s",
// "busy_share", "out"}], "verdicts" (counts), "regressions" and "inconclusive" [NightComparison], and "results" [{"id", "item", "action", "why",
// "status", "attempts", "reason", "session", "winner", "previous", "measured", "wall_s", "device", "comparison"}] in the plan's order.
// tuner/sweep/sweeping.md says what each is.
inline constexpr int kSummaryVersion = 2;
nlohmann::ordered_json summary_json(const SweepState& state, SweepEnd end, const std::string& book, const std::string& ended_utc);

// For people, several lines.
std::string summary_text(const SweepState& state, SweepEnd end);

}  // namespace tunebook
