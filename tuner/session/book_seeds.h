#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.h"
#include "db/store.h"
#include "search/space.h"

namespace tunebook {

// A configuration that a session tries because of what the book holds.
struct BookSeed {
  Configuration configuration;
  bool predicted = false;  // by a model of time; else it is the winner of another problem or device
  friend bool operator==(const BookSeed&, const BookSeed&) = default;
};

// Configurations that a session takes from the book before it searches.
struct BookSeeds {
  std::optional<Configuration> standing_winner;  // of this very problem and device
  std::vector<BookSeed> others;                  // each once, in the order of trying

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

// Two predicted configurations, then one winner, and so on; what one list lacks the other gives. At
// most `limit`, each once.
std::vector<BookSeed> mixed_seeds(const std::vector<Configuration>& predicted,
                                  const std::vector<Configuration>& winners, std::size_t limit);

// How many trials of a session follow predictions if nobody says it: three tenths of its budget (24
// of 80), so that most of it remains for the search, which learns from this very problem; at least
// what a session of three trials has, and at most 24: what is worse than the first two dozen by the
// model is rarely the winner.
std::size_t predicted_trials(std::uint64_t trials);

// Values from a book are used only if the template at hand declares them.
bool declared(const SearchSpace& space, const Configuration& configuration);

}  // namespace tunebook
