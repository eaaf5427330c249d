#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "sweep/cover_planner.h"
#include "sweep/state.h"
#include "sweep/summary.h"

namespace tunebook {

// What covering regions needs from who runs the sweep.
struct CoverRun {
  std::function<SweepEnd()> run;                        // what is pending in the state
  std::function<FrozenItem(const SweepItem&)> prepare;  // decides about an item
  std::function<void()> save;                           // the state: the sweep has not ended yet
  std::function<void(const std::string&)> event;        // a line for a log
  std::size_t at_once = 1;  // shapes that are chosen at once: one for each device
};

// Runs what is pending in the state, then shapes that the planner chooses, which are added to it,
// until the regions are covered or the sweep ends otherwise. Ends, too, after kFruitlessRounds in a
// row in which no session found a winner: what keeps them from it will not go. state.regions tells
// afterwards how far the regions are.
inline constexpr int kFruitlessRounds = 3;
SweepEnd cover_regions(SweepState& state, CoverPlanner& planner, const CoverRun& run);

}  // namespace tunebook
