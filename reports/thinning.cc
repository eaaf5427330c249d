#include "reports/thinning.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace tunebook::reports {
namespace {

constexpr std::size_t kFewestBins = 4;

// The stretch, of `bins` equal ones, in which a trial lies.
std::size_t bin_of(std::size_t trial, std::size_t trials, std::size_t bins) { return trial * bins / trials; }

std::vector<KeptTrial> binned_failures(std::span<const PlottedTrial> trials, std::size_t points) {
  std::array<bool, kOutcomes.size()> seen{};
  std::size_t kinds = 0, failures = 0;
  for (const PlottedTrial& trial : trials) {
    if (trial.time_us) continue;
    ++failures;
    if (!seen[static_cast<std::size_t>(trial.outcome)]) ++kinds;
    seen[static_cast<std::size_t>(trial.outcome)] = true;
  }
  if (kinds == 0) return {};
  const std::size_t bins = failures <= points ? trials.size() : std::max(kFewestBins, points / kinds);
  std::map<std::pair<std::size_t, Outcome>, KeptTrial> kept;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].time_us) continue;
    const auto [bin, fresh] = kept.try_emplace({bin_of(i, trials.size(), bins), trials[i].outcome}, KeptTrial{i, 0});
    ++bin->second.count;
  }
  std::vector<KeptTrial> result;
  for (const auto& [bin, trial] : kept) result.push_back(trial);
  return result;
}

void keep_improvements(std::span<const PlottedTrial> trials, std::size_t most, std::set<std::size_t>& kept) {
  std::vector<std::size_t> better;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].time_us && (better.empty() || *trials[i].time_us < *trials[better.back()].time_us)) better.push_back(i);
  }
  const std::size_t from = better.size() > most ? better.size() - most : 0;
  kept.insert(better.begin() + static_cast<std::ptrdiff_t>(from), better.end());
}

void keep_extremes(std::span<const PlottedTrial> trials, std::size_t bins, std::set<std::size_t>& kept) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> fastest(bins, kNone), slowest(bins, kNone);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!trials[i].time_us) continue;
    const std::size_t bin = bin_of(i, trials.size(), bins);
    if (fastest[bin] == kNone || *trials[i].time_us < *trials[fastest[bin]].time_us) fastest[bin] = i;
    if (slowest[bin] == kNone || *trials[i].time_us > *trials[slowest[bin]].time_us) slowest[bin] = i;
  }
  for (std::size_t bin = 0; bin < bins; ++bin) {
    if (fastest[bin] != kNone) kept.insert(fastest[bin]);
    if (slowest[bin] != kNone) kept.insert(slowest[bin]);
  }
}

}  // namespace

std::vector<KeptTrial> thin_trials(std::span<const PlottedTrial> trials, std::size_t points) {
  std::vector<KeptTrial> result;
  if (trials.size() <= points) {
    for (std::size_t i = 0; i < trials.size(); ++i) result.push_back({i, 1});
    return result;
  }
  result = binned_failures(trials, points / 4);
  std::set<std::size_t> kept;
  keep_improvements(trials, std::max(kFewestBins, points / 4), kept);
  const std::size_t left = points > result.size() + kept.size() ? points - result.size() - kept.size() : 0;
  keep_extremes(trials, std::max(kFewestBins, left / 2), kept);
  for (const std::size_t trial : kept) result.push_back({trial, 1});
  std::sort(result.begin(), result.end(), [](const KeptTrial& x, const KeptTrial& y) { return x.trial < y.trial; });
  return result;
}

}  // namespace tunebook::reports
