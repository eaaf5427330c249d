#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.h"
#include "db/store.h"
#include "search/space.h"

namespace tunebook {

// Configurations that a session takes from the book before it searches.
struct BookSeeds {
  std::optional<Configuration> standing_winner;  // of this very problem and device
  std::vector<Configuration> others;             // winners of other problems and devices, in the order of trying

  // As stored with the session (SessionRecord::standing_winner). Throws InputError for damaged text.
  std::string to_text() const;
  static BookSeeds from_text(const std::string& text);
};

// Winners of the same kernel for other problems or on other devices, each configuration once: same device first, then by distance
// between the problems (Euclidean, of log2 of the sizes; different categorical values count as far apart). Only what is in the space;
// of other devices, if a time is given, only what stood before it.
std::vector<Configuration> related_winners(const Store& store, const TrialContext& context, const Problem& problem, const SearchSpace& space,
                                           const std::string& objective, const std::string& other_devices_before_utc = "",
                                           std::size_t limit = 6);

// Values from a book are used only if the template at hand declares them.
bool declared(const SearchSpace& space, const Configuration& configuration);

}  // namespace tunebook
