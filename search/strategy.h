#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/outcome.h"
#include "search/space.h"

namespace tunebook {

// What a strategy learns of one proposal.
struct Observation {
  Outcome outcome = Outcome::ok;
  std::optional<double> value;  // what shall be small, when has_time(outcome): time in us or energy in J
};

// What is known of a configuration once it is compiled, before it runs.
struct Foresight {
  Outcome outcome = Outcome::ok;  // else it ends there: it does not compile, or no block of it fits the device
  Resources resources;
};

// Proposes configurations of a space (ask) and learns from outcomes (tell), many proposals in flight. Never proposes an
// index twice; told in the order of its proposals. Deterministic in (space, seed, the order of asks and tells).
class Strategy {
 public:
  virtual ~Strategy() = default;
  // Up to `count` further indices; fewer when the strategy must learn first, none and exhausted() when all were proposed.
  virtual std::vector<std::uint64_t> ask(std::size_t count) = 0;
  virtual void tell(std::uint64_t index, const Observation& observation) = 0;
  virtual bool exhausted() const = 0;
  // Indices proposed by others (presets, the standing winner): the strategy will not propose them again. It may be told of them, too.
  virtual void exclude(std::uint64_t index) = 0;
  // Where configurations can be compiled ahead of being run. Without this call prospects() is always empty.
  virtual void use_foresight() {}
  // When ask() gives nothing: what has to be foreseen first, configurations that the next proposals are chosen from. They are no
  // proposals, and not all are tried.
  virtual std::vector<std::uint64_t> prospects() const { return {}; }
  // Of each prospect, in their order; ask() may give something before the last. One that ends there is not proposed any more.
  virtual void foresee(std::uint64_t, const Foresight&) {}
  // By how much the next proposal is expected to improve on the best so far, as a share of it; empty while that is not known, and
  // of strategies that have no model.
  virtual std::optional<double> expected_improvement() const { return std::nullopt; }
};

// Constants of a strategy that replace the built-in ones ("surrogate.batch" -> 4): for choosing them by replay.
using StrategySettings = std::map<std::string, double>;

// Names accepted by make_strategy, in the order of the documentation.
const std::vector<std::string>& strategy_names();
// Throws InputError for an unknown name, with the nearest.
void check_strategy_name(const std::string& name);
// Throws InputError for an unknown name or setting. The space must outlive the strategy.
std::unique_ptr<Strategy> make_strategy(const std::string& name, const SearchSpace& space, std::uint64_t seed,
                                        const StrategySettings& settings = {});

// --budget: "200" trials, "10%" of the space (rounded up), "30s", "5m", "2h", "all" (a share of 1), "auto" (until little improvement
// is expected). Shares and times may have decimals.
struct Budget {
  // "auto" ends when the expected improvement stayed below this share of the best for so many proposals in a row, and at the
  // latest after kAutoMost proposals (which is also the end where a strategy does not know what to expect).
  static constexpr double kAutoImprovement = 0.01;
  static constexpr int kAutoPatience = 20;
  static constexpr std::uint64_t kAutoMost = 1000;

  std::optional<std::uint64_t> trials;
  std::optional<double> share;    // (0, 1]
  std::optional<double> seconds;
  bool automatic = false;
  std::string text;
  // Throws InputError for anything else, zero and negative included.
  static Budget parse(const std::string& text);
  // Trials allowed for a space of `size`, at most the size; the size itself for a time budget.
  std::uint64_t trial_limit(std::uint64_t size) const;
};

}  // namespace tunebook
