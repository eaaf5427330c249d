#pragma once

#include <memory>

#include "search/genetic.h"
#include "search/settings.h"
#include "search/strategy.h"
#include "search/surrogate.h"

namespace tunebook {

// The default: the surrogate first; when its proposals have not improved on the best for a while, the genetic algorithm, which
// has learnt from everything so far, takes turns with it.
struct AutoSettings {
  double barren = 60;       // proposals without improvement before the genetic algorithm takes turns
  double least = 120;       // evaluations that the surrogate has for itself
  double turn = 2;          // of so many proposals then, one is the surrogate's
  double untold = 16;       // proposals in flight at most

  NamedSettings named() { return {{"barren", &barren}, {"least", &least}, {"turn", &turn}, {"untold", &untold}}; }
};

std::unique_ptr<Strategy> make_auto(const SearchSpace& space, std::uint64_t seed, const AutoSettings& settings,
                                    const SurrogateSettings& surrogate, const GeneticSettings& genetic);

}  // namespace tunebook
