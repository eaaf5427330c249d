#include "reports/gate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace tunebook::reports {
namespace {

bool is_time(double value) { return std::isfinite(value) && value > 0; }

std::optional<double> geometric_mean(std::span<const double> times) {
  if (times.empty() || !std::all_of(times.begin(), times.end(), is_time)) return std::nullopt;
  double sum = 0;
  for (const double time : times) sum += std::log(time);
  return std::exp(sum / static_cast<double>(times.size()));
}

std::string signed_percent(double share) { return fmt::format("{}{}", share < 0 ? "-" : "+", share_text(share)); }

// Why there is no test; empty if there may be one.
std::string missing_data(const GateItem& item) {
  for (const auto& [side, times] : {std::pair{"base", item.base_us}, {"candidate", item.candidate_us}}) {
    if (times.empty()) return fmt::format("the {} has no process medians", side);
    if (!std::all_of(times.begin(), times.end(), is_time)) return fmt::format("a process median of the {} is no positive number", side);
  }
  for (const auto& [side, times] : {std::pair{"base", item.base_us}, {"candidate", item.candidate_us}}) {
    if (times.size() < 2) return fmt::format("the {} was timed in one process only, so its spread is not known", side);
  }
  return {};
}

// What one process does to both times, by the layout of its memory or by how busy the machine is, cancels in their ratio.
std::optional<WelchRatio> paired_test(const GateItem& item) {
  if (item.base_us.size() != item.candidate_us.size()) return welch_ratio(item.base_us, item.candidate_us);
  const Ratio ratio = paired_ratio(item.candidate_us, item.base_us);
  return WelchRatio{ratio.ratio, ratio.interval, ratio.p, static_cast<double>(item.base_us.size() - 1)};
}

void decide(Judgement& judgement, double gate) {
  const double change = *judgement.change;
  const double low = judgement.test->interval.low - 1, high = judgement.test->interval.high - 1;
  const bool different = *judgement.holm_p < kFamilyAlpha;
  const bool large = std::abs(change) > gate;
  const std::string interval = fmt::format("95 % interval {} to {}", signed_percent(low), signed_percent(high));
  if (different && large) {
    judgement.verdict = change > 0 ? Verdict::regression : Verdict::improvement;
    judgement.reason = fmt::format("{} by {}, more than the gate of {} ({}, adjusted p {:.2g})", change > 0 ? "slower" : "faster",
                                   share_text(change), share_text(gate), interval, *judgement.holm_p);
  } else if (low >= -gate && high <= gate) {
    judgement.verdict = Verdict::unchanged;
    judgement.reason = fmt::format("the {} lies inside the gate of {}", interval, share_text(gate));
  } else if (large) {
    judgement.reason = fmt::format("{} by {}, more than the gate of {}, but it may be chance (adjusted p {:.2g})",
                                   change > 0 ? "slower" : "faster", share_text(change), share_text(gate), *judgement.holm_p);
  } else {
    judgement.reason = fmt::format("the change is within the gate of {}, but the {} reaches beyond it", share_text(gate), interval);
  }
}

}  // namespace

std::string share_text(double share) {
  const double percent = 100 * std::abs(share);
  return percent < 1 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.1f} %", percent);
}

HistoricalNoise historical_noise(std::span<const Night> nights) {
  using Version = std::pair<std::string, std::string>;
  struct Earlier {
    double median_us;
    bool counted;
  };
  std::map<Version, Earlier> last;
  std::vector<double> changes;
  HistoricalNoise noise;
  for (const Night& night : nights) {
    if (!is_time(night.median_us)) continue;
    const auto [place, first] = last.try_emplace({night.configuration, night.kernel_hash}, Earlier{night.median_us, false});
    if (first) continue;
    changes.push_back(night.median_us / place->second.median_us - 1);
    noise.nights += place->second.counted ? 1 : 2;
    place->second = {night.median_us, true};
  }
  if (changes.size() + 1 < kNoiseNights) return noise;
  const auto count = static_cast<double>(changes.size());
  double mean = 0, squares = 0;
  for (const double change : changes) mean += change / count;
  for (const double change : changes) squares += (change - mean) * (change - mean);
  noise.share = 3 * std::sqrt(squares / (count - 1));
  return noise;
}

std::vector<Judgement> judge(std::span<const GateItem> items) {
  std::vector<Judgement> judgements(items.size());
  std::vector<std::size_t> tested;
  std::vector<double> p;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Judgement& judgement = judgements[i];
    judgement.reason = missing_data(items[i]);
    const auto base = geometric_mean(items[i].base_us), candidate = geometric_mean(items[i].candidate_us);
    if (base && candidate) judgement.change = *candidate / *base - 1;
    if (!judgement.reason.empty()) continue;
    judgement.test = items[i].paired ? paired_test(items[i]) : welch_ratio(items[i].base_us, items[i].candidate_us);
    if (!judgement.test) continue;
    judgement.change = judgement.test->ratio - 1;
    tested.push_back(i);
    p.push_back(judgement.test->p);
  }
  const std::vector<double> adjusted = holm_adjusted(p);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    Judgement& judgement = judgements[tested[i]];
    judgement.holm_p = adjusted[i];
    decide(judgement, items[tested[i]].gate);
  }
  return judgements;
}

}  // namespace tunebook::reports
