#pragma once

#include <memory>

#include "search/settings.h"
#include "search/strategy.h"

namespace tunebook {

// A genetic algorithm whose best individual climbs to a local optimum after each generation.
struct GeneticSettings {
  double population = 20;
  double selection = 4;     // parents: population times a Beta(1, selection) variate, the best first
  double mutation = 0.4;    // probability that a child changes one parameter more
  double climb = 1;         // 0: no hill climbing
  double untold = 16;       // proposals in flight at most

  NamedSettings named() {
    return {{"population", &population}, {"selection", &selection}, {"mutation", &mutation}, {"climb", &climb}, {"untold", &untold}};
  }
};

std::unique_ptr<Strategy> make_genetic(const SearchSpace& space, std::uint64_t seed, const GeneticSettings& settings);

}  // namespace tunebook
