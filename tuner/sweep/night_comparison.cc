#include "sweep/night_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/statistics.h"

namespace tunebook {
namespace {

using nlohmann::ordered_json;
using reports::Verdict;

constexpr std::array kVerdicts = {Verdict::regression, Verdict::improvement, Verdict::unchanged, Verdict::inconclusive};
constexpr std::size_t kListed = 20;  // of each kind, in the text
constexpr double kDaySeconds = 24 * 3600.0;

const ordered_json* member(const ordered_json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

// What the result says of a winner; null if there is none.
const ordered_json* winner_in(const ordered_json& result, const char* which) {
  const ordered_json* part = member(result, which);
  return part != nullptr && part->is_object() ? part : nullptr;
}

std::vector<double> process_medians(const ordered_json& winner) {
  std::vector<double> values;
  const ordered_json* list = member(winner, "process_medians_us");
  if (list == nullptr || !list->is_array()) return values;
  for (const ordered_json& value : *list) {
    if (value.is_number()) values.push_back(value.get<double>());
  }
  return values;
}

std::optional<double> energy(const ordered_json& winner) {
  const ordered_json* joules = member(winner, "energy_j");
  return joules != nullptr && joules->is_number() ? std::optional(joules->get<double>()) : std::nullopt;
}

// Equal for equal configurations, in whatever order a book has the parameters.
nlohmann::json configuration_of(const ordered_json& winner) {
  const ordered_json* configuration = member(winner, "configuration");
  return configuration == nullptr ? nlohmann::json() : nlohmann::json::parse(configuration->dump(), nullptr, false);
}

std::string reason_in_words(const NightComparison& comparison) {
  std::string reason = comparison.judgement.reason;
  if (comparison.verdict() == Verdict::regression || comparison.verdict() == Verdict::improvement) {
    const char* how = comparison.verdict() == Verdict::regression ? "slower" : "faster";
    reason += comparison.same_configuration ? fmt::format("; the same configuration got {}", how) : "; another winner";
  }
  if (comparison.before_j && comparison.now_j) {
    reason += fmt::format("; judged by time: of energy each winner has one value, {:.4g} J now and {:.4g} J before", *comparison.now_j, *comparison.before_j);
  }
  return reason;
}

ordered_json or_null(const std::optional<double>& value) { return value ? ordered_json(*value) : ordered_json(nullptr); }

}  // namespace

std::vector<NightComparison> compare_nights(const FrozenPlan& plan, const std::vector<const ordered_json*>& results) {
  std::vector<NightComparison> comparisons;
  std::vector<std::pair<std::vector<double>, std::vector<double>>> values;
  for (std::size_t i = 0; i < plan.items.size() && i < results.size(); ++i) {
    if (results[i] == nullptr || !results[i]->is_object()) continue;
    const ordered_json* before = winner_in(*results[i], "previous");
    const ordered_json* now = winner_in(*results[i], "winner");
    if (before == nullptr || now == nullptr) continue;
    const std::vector<double> before_us = process_medians(*before), now_us = process_medians(*now);
    if (before_us.empty() || now_us.empty()) continue;
    const FrozenItem& frozen = plan.items[i];
    NightComparison& comparison = comparisons.emplace_back();
    comparison.item = i;
    comparison.objective = objective_name(frozen.item.settings.objective);
    comparison.before_us = median(before_us);
    comparison.now_us = median(now_us);
    comparison.before_processes = before_us.size();
    comparison.now_processes = now_us.size();
    comparison.same_configuration = configuration_of(*before) == configuration_of(*now);
    comparison.noise = frozen.noise;
    comparison.gate = std::max(kNightThreshold, frozen.noise.share);
    if (frozen.item.settings.objective == Objective::energy) {
      comparison.before_j = energy(*before);
      comparison.now_j = energy(*now);
    }
    values.emplace_back(before_us, now_us);
  }
  std::vector<reports::GateItem> items;
  for (std::size_t i = 0; i < comparisons.size(); ++i) items.push_back({values[i].first, values[i].second, comparisons[i].gate, false});
  std::vector<reports::Judgement> judgements = reports::judge(items);
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    comparisons[i].judgement = std::move(judgements[i]);
    comparisons[i].judgement.reason = reason_in_words(comparisons[i]);
  }
  return comparisons;
}

std::vector<NightComparison> with_verdict(const std::vector<NightComparison>& comparisons, Verdict verdict) {
  std::vector<NightComparison> found;
  for (const NightComparison& comparison : comparisons) {
    if (comparison.verdict() == verdict) found.push_back(comparison);
  }
  const auto size = [](const NightComparison& comparison) { return std::abs(comparison.judgement.change.value_or(0)); };
  std::stable_sort(found.begin(), found.end(), [&](const NightComparison& x, const NightComparison& y) { return size(x) > size(y); });
  return found;
}

NightNoise night_noise(const SweepItem& item, const ItemContext& context, const SessionIndex& index, double before) {
  std::vector<const SessionSummary*> sessions;
  for (const SessionSummary* session : index.of(item.kernel, item.problem, context.device_key)) {
    const bool counts = session->finished && *session->finished < before && !session->winner.empty() && session->winner_us;
    if (counts && measures(*session, context.method, item.settings.objective)) sessions.push_back(session);
  }
  // Of two that ended at one moment the one with the smaller id counts, as everywhere: it comes last.
  std::sort(sessions.begin(), sessions.end(), [](const SessionSummary* x, const SessionSummary* y) {
    return std::tie(*x->finished, y->id) < std::tie(*y->finished, x->id);
  });
  std::vector<reports::Night> nights;
  std::int64_t last_date = -1;
  for (const SessionSummary* session : sessions) {
    const auto date = static_cast<std::int64_t>(std::floor(*session->finished / kDaySeconds));
    if (!nights.empty() && date == last_date) nights.pop_back();
    nights.push_back({session->winner, session->kernel_hash, *session->winner_us});
    last_date = date;
  }
  constexpr std::size_t kMostNights = reports::Limits{}.nights;
  if (nights.size() > kMostNights) nights.erase(nights.begin(), nights.end() - kMostNights);
  const reports::HistoricalNoise noise = reports::historical_noise(nights);
  return {noise.share, noise.nights};
}

ordered_json NightComparison::to_json(const FrozenPlan& plan) const {
  const FrozenItem& frozen = plan.items[item];
  const auto& test = judgement.test;
  return {{"item", frozen.item.display()},
          {"verdict", reports::verdict_name(verdict())},
          {"objective", objective},
          {"before_us", before_us},
          {"now_us", now_us},
          {"before_j", or_null(before_j)},
          {"now_j", or_null(now_j)},
          {"change", or_null(judgement.change)},
          {"change_low", test ? ordered_json(test->interval.low - 1) : ordered_json(nullptr)},
          {"change_high", test ? ordered_json(test->interval.high - 1) : ordered_json(nullptr)},
          {"adjusted_p", or_null(judgement.holm_p)},
          {"gate", gate},
          {"noise", noise.share},
          {"noise_nights", noise.nights},
          {"processes", {before_processes, now_processes}},
          {"same_configuration", same_configuration},
          {"reason", judgement.reason},
          {"why", frozen.decision.reason}};
}

void add_verdicts(ordered_json& json, const FrozenPlan& plan, const std::vector<NightComparison>& comparisons) {
  const auto list = [&](Verdict verdict) {
    ordered_json entries = ordered_json::array();
    for (const NightComparison& comparison : with_verdict(comparisons, verdict)) entries.push_back(comparison.to_json(plan));
    return entries;
  };
  for (const Verdict verdict : kVerdicts) {
    json["verdicts"][std::string(reports::verdict_name(verdict))] =
        std::count_if(comparisons.begin(), comparisons.end(), [&](const NightComparison& comparison) { return comparison.verdict() == verdict; });
  }
  json["regressions"] = list(Verdict::regression);
  json["inconclusive"] = list(Verdict::inconclusive);
}

std::string verdicts_text(const FrozenPlan& plan, const std::vector<NightComparison>& comparisons) {
  if (comparisons.empty()) return "";
  const std::vector<NightComparison> slower = with_verdict(comparisons, Verdict::regression);
  std::vector<NightComparison> perhaps = with_verdict(comparisons, Verdict::inconclusive);
  std::string text = fmt::format("  {} winners beside those before: {} slower, {} faster, {} unchanged, {} inconclusive\n", comparisons.size(), slower.size(),
                                 with_verdict(comparisons, Verdict::improvement).size(), with_verdict(comparisons, Verdict::unchanged).size(), perhaps.size());
  std::erase_if(perhaps, [](const NightComparison& comparison) {
    const bool large = comparison.judgement.change.value_or(0) > comparison.gate;
    const bool chance_alone = comparison.judgement.test && comparison.judgement.test->p >= reports::kFamilyAlpha;
    return !large || chance_alone;
  });
  const auto list = [&](const std::vector<NightComparison>& found, const char* what) {
    for (std::size_t i = 0; i < std::min(found.size(), kListed); ++i) {
      const NightComparison& one = found[i];
      text += fmt::format("  {}: {}: {:.4g} us, before {:.4g} us, {:+.1f} %: {}\n", what, plan.items[one.item].item.display(), one.now_us,
                          one.before_us, 100 * one.judgement.change.value_or(0), one.judgement.reason);
    }
    if (found.size() > kListed) text += fmt::format("  and {} more {}\n", found.size() - kListed, what);
  };
  list(slower, "slower than before");
  list(perhaps, "perhaps slower than before");
  return text;
}

}  // namespace tunebook
