#pragma once

#include <memory>

#include "search/settings.h"
#include "search/strategy.h"

namespace tunebook {

// Differential evolution, best/1/bin (Storn & Price 1997), on value indices, rounded and repaired.
struct DifferentialEvolutionSettings {
  double population = 30;
  double factor = 0.9;      // of the difference
  double crossover = 0.6;   // probability of each parameter to come from the mutant
  double untold = 16;       // proposals in flight at most

  NamedSettings named() {
    return {{"population", &population}, {"factor", &factor}, {"crossover", &crossover}, {"untold", &untold}};
  }
};

std::unique_ptr<Strategy> make_differential_evolution(const SearchSpace& space, std::uint64_t seed,
                                                      const DifferentialEvolutionSettings& settings);

}  // namespace tunebook
