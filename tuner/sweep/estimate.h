#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sweep/decision.h"
#include "sweep/item.h"
#include "sweep/session_index.h"

namespace tunebook {

// What a device's sessions cost while the book knows of none: seconds of a trial (compiled, verified and timed, many compiles at once), and
// of what surrounds the search (start of the workers, presets, finalists in fresh processes). Rough figures, for an order and a first
// partition only; the first sessions replace them.
struct CostDefaults {
  double trial_s, around_s;
};
CostDefaults cost_defaults(const std::string& device_kind);  // "cuda", "cpu", "replay"

// Guesses from a book's history.
class Estimator {
 public:
  // Both must outlive it.
  Estimator(const SessionHistory& history, const SessionIndex& index);

  // `space_size`: of the item's search space, where it is known: budgets that are a share of it need it.
  //
  // Seconds. Of a search: the median of the item's own earlier searches; else seconds per trial (median over the kNearest sessions on the
  // problems nearest by the logarithms of their sizes, of the same kernel on the same device; else on devices of its kind; else of any kernel on
  // the device; else cost_defaults()) times the trials that the budget allows, or the budget's own time. Of a timing: the median of earlier
  // ones on the device. What an interrupted session has done is subtracted.
  //
  // Gain, as a share of a launch's time: what the kernel's searches gained over the preset "default" (their median; kGuessedGain without any),
  // times kStaleShare if a winner of another version of the kernel, toolkit or date stands (or what searching again has gained so far, if
  // there are enough of such searches), or kNearShare if a lookup has a winner of a near problem. Of a timing, kRetimeGain.
  Estimate estimate(const SweepItem& item, const ItemContext& context, const Decision& decision, std::optional<std::uint64_t> space_size = {}) const;

  static constexpr std::size_t kNearest = 5;
  static constexpr double kGuessedGain = 0.5;   // a plain default against a tuned kernel: a factor of two
  static constexpr double kStaleShare = 0.5;
  static constexpr double kNearShare = 0.3;
  static constexpr double kRetimeGain = 0.002;  // it finds no faster configuration, but it is quick and keeps the book's times true
  static constexpr std::size_t kEnoughSearches = 3;
  static constexpr std::size_t kConsidered = 500;  // newest sessions of a kernel: those of years ago tell little, and plans may be long

 private:
  double search_gain(const SweepItem& item, const ItemContext& context) const;
  double gain(const SweepItem& item, const ItemContext& context, const Decision& decision) const;
  Estimate search_seconds(const SweepItem& item, const ItemContext& context, std::optional<std::uint64_t> space_size) const;
  Estimate retime_seconds(const SweepItem& item, const ItemContext& context) const;
  double expected_trials(const SweepItem& item, std::optional<std::uint64_t> space_size) const;

  std::vector<const SessionSummary*> searches_of(const std::string& kernel) const;

  const SessionIndex& index_;
  // The newest of each device: searches of whatever kernel, and seconds of timings; these also by device and kernel.
  std::map<std::string, std::vector<const SessionSummary*>> searches_;
  std::map<std::string, std::vector<double>> timings_;
};

// Worth of an item's time: priority times gain per second. More is run first.
double worth(const SweepItem& item, const Estimate& estimate);

// Euclidean distance of log2 of the sizes; infinite if they differ in a category or a dimension. As the lookup's (DESIGN of `near`).
double problem_distance(const Problem& x, const Problem& y);

}  // namespace tunebook
