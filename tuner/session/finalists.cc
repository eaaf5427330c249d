#include "session/finalists.h"

#include <algorithm>
#include <limits>

#include "core/statistics.h"

namespace tunebook {
namespace {

const TrialRecord* trial_of(const std::vector<TrialRecord>& trials, const Configuration& configuration) {
  const auto found = std::find_if(trials.begin(), trials.end(),
                                  [&](const TrialRecord& trial) { return trial.configuration == configuration; });
  return found == trials.end() ? nullptr : &*found;
}

FinalistRecord summarise(const Finalist& finalist, const std::vector<TrialRecord>& trials) {
  FinalistRecord record;
  record.configuration = finalist.configuration;
  record.process_medians_us = finalist.process_medians_us;
  record.median_us = median(finalist.process_medians_us);
  const Interval interval = median_interval(finalist.process_medians_us);
  record.ci_low_us = interval.low;
  record.ci_high_us = interval.high;
  if (const TrialRecord* trial = trial_of(trials, finalist.configuration)) {
    const Resources& resources = trial->resources;
    record.registers = resources.registers;
    if (resources.shared_static_bytes >= 0 || resources.shared_dynamic_bytes >= 0) {
      record.shared_bytes = std::max<std::int64_t>(0, resources.shared_static_bytes) +
                            std::max<std::int64_t>(0, resources.shared_dynamic_bytes);
    }
  }
  return record;
}

bool tied(const FinalistRecord& candidate, const FinalistRecord& fastest) {
  if (candidate.median_us > fastest.median_us * kTieMedian) return false;
  const std::size_t processes = std::min(candidate.process_medians_us.size(), fastest.process_medians_us.size());
  if (processes < 2) return candidate.median_us <= fastest.median_us * kTieRatio;
  const std::span<const double> x(candidate.process_medians_us.data(), processes);
  const std::span<const double> y(fastest.process_medians_us.data(), processes);
  return paired_ratio(x, y).interval.low < kTieRatio;
}

// Unknown resources come last.
std::int64_t or_worst(std::int64_t value) { return value < 0 ? std::numeric_limits<std::int64_t>::max() : value; }

bool preferred(const FinalistRecord& x, const FinalistRecord& y) {
  if (x.registers != y.registers) return or_worst(x.registers) < or_worst(y.registers);
  if (x.shared_bytes != y.shared_bytes) return or_worst(x.shared_bytes) < or_worst(y.shared_bytes);
  return x.configuration.canonical() < y.configuration.canonical();
}

}  // namespace

std::vector<TrialRecord> choose_finalists(const std::vector<TrialRecord>& trials, int count) {
  std::vector<TrialRecord> chosen;
  for (const TrialRecord& trial : trials) {
    if (trial.outcome == Outcome::ok && trial.median_us) chosen.push_back(trial);
  }
  std::sort(chosen.begin(), chosen.end(), [](const TrialRecord& x, const TrialRecord& y) {
    return *x.median_us != *y.median_us ? *x.median_us < *y.median_us : x.order < y.order;
  });
  while (!chosen.empty() && *chosen.back().median_us > *chosen.front().median_us * kFinalistMedian) chosen.pop_back();
  if (chosen.size() > static_cast<std::size_t>(std::max(count, 0))) chosen.resize(static_cast<std::size_t>(std::max(count, 0)));
  return chosen;
}

std::optional<WinnerRecord> decide_winner(const std::vector<Finalist>& finalists, const std::vector<TrialRecord>& trials) {
  std::vector<FinalistRecord> records;
  for (const Finalist& finalist : finalists) {
    if (!finalist.process_medians_us.empty()) records.push_back(summarise(finalist, trials));
  }
  if (records.empty()) return std::nullopt;
  std::stable_sort(records.begin(), records.end(),
                   [](const FinalistRecord& x, const FinalistRecord& y) { return x.median_us < y.median_us; });
  const FinalistRecord fastest = records.front();
  for (FinalistRecord& record : records) record.in_tie_set = tied(record, fastest);
  records.front().in_tie_set = true;
  std::stable_sort(records.begin(), records.end(), [](const FinalistRecord& x, const FinalistRecord& y) {
    if (x.in_tie_set != y.in_tie_set) return x.in_tie_set;
    return x.in_tie_set && preferred(x, y);
  });

  WinnerRecord winner;
  winner.configuration = records.front().configuration;
  winner.median_us = records.front().median_us;
  winner.ci_low_us = records.front().ci_low_us;
  winner.ci_high_us = records.front().ci_high_us;
  winner.finalists = std::move(records);
  return winner;
}

}  // namespace tunebook
