#pragma once

#include <memory>

#include "search/settings.h"
#include "search/strategy.h"

namespace tunebook {

// Iterated local search: climbs, then kicks the best found and climbs again; starts anew when that brings nothing for a while.
struct LocalSearchSettings {
  double samples = 20;   // random configurations, of which the best is where the first climb starts
  double kick = 2;       // parameters that a kick changes
  double barren = 6;     // kicks without improvement before it starts from a random configuration
  double untold = 16;    // proposals in flight at most

  NamedSettings named() { return {{"samples", &samples}, {"kick", &kick}, {"barren", &barren}, {"untold", &untold}}; }
};

std::unique_ptr<Strategy> make_local_search(const SearchSpace& space, std::uint64_t seed, const LocalSearchSettings& settings);

}  // namespace tunebook
