#include "cli/report_trials.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "core/utf8.h"
#include "db/encoding.h"
#include "reports/convergence.h"
#include "reports/effects.h"
#include "reports/thinning.h"

namespace tunebook::cli {
namespace {

// Of a parameter, values that are shown.
constexpr std::size_t kEffectValues = 64;
constexpr std::size_t kFewestPoints = 60;
constexpr std::size_t kFewestCurvePoints = 24;

// What a damaged book says is no duration: it would make every sum one.
double duration(double seconds) { return std::isfinite(seconds) && seconds > 0 ? seconds : 0; }

// One for each proposal: a later try replaces an earlier one.
void keep_last_tries(std::vector<ScannedTrial>& trials) {
  std::sort(trials.begin(), trials.end(), [](const ScannedTrial& x, const ScannedTrial& y) {
    if (x.proposal != y.proposal) return x.proposal < y.proposal;
    return x.configuration != y.configuration ? x.configuration < y.configuration : x.row < y.row;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const bool last = i + 1 == trials.size() || trials[i + 1].proposal != trials[i].proposal ||
                      trials[i + 1].configuration != trials[i].configuration;
    if (last) trials[kept++] = trials[i];
  }
  trials.resize(kept);
}

std::optional<double> time_of(const ScannedTrial& trial) { return trial.timed() ? std::optional(trial.time_us) : std::nullopt; }

std::string display(History& history, std::int64_t configuration, const std::vector<std::string>& order) {
  return read_values(history.configuration(configuration), order, "configuration in the book").display();
}

void add_points(History& history, const TrialScan& scan, const DetailedItem& detailed, std::size_t points, const reports::Limits& limits) {
  const std::vector<ScannedTrial>& trials = detailed.session->trials;
  std::vector<reports::PlottedTrial> plotted;
  plotted.reserve(trials.size());
  for (const ScannedTrial& trial : trials) plotted.push_back({trial.outcome, time_of(trial)});
  for (const reports::KeptTrial& kept : reports::thin_trials(plotted, points)) {
    const ScannedTrial& trial = trials[kept.trial];
    reports::TrialPoint point;
    point.evaluation = static_cast<std::int64_t>(kept.trial) + 1;
    point.count = kept.count;
    point.outcome = trial.outcome;
    point.time_us = time_of(trial);
    point.origin = scan.origins[trial.origin];
    point.configuration = read_values(history.configuration(trial.configuration), detailed.parameter_order, "configuration in the book");
    if (!has_time(trial.outcome)) point.message = reports::shown_message(history.trial(trial.row).message, limits.message_bytes);
    detailed.item->trials.push_back(std::move(point));
  }
}

void add_curves(History& history, const DetailedItem& detailed, std::size_t curve_points) {
  const std::vector<ScannedTrial>& trials = detailed.session->trials;
  std::vector<std::optional<double>> times;
  times.reserve(trials.size());
  for (const ScannedTrial& trial : trials) times.push_back(time_of(trial));
  for (const reports::Improvement& better : reports::improvements(times)) {
    const ScannedTrial& trial = trials[static_cast<std::size_t>(better.evaluation - 1)];
    detailed.item->convergence.push_back({better.evaluation, better.time_us, display(history, trial.configuration, detailed.parameter_order)});
  }
  detailed.item->random_expectation = reports::random_expectation(times, curve_points);
}

void add_failures(History& history, const TrialScan& scan, const DetailedItem& detailed, std::size_t most) {
  std::vector<reports::FailureGroup> groups = count_failures(scan, {detailed.session}, true);
  detailed.item->failure_groups = static_cast<std::int64_t>(groups.size());
  reports::keep_most_frequent(groups, most);
  for (reports::FailureGroup& group : groups) {
    const ScannedTrial& first = detailed.session->trials[static_cast<std::size_t>(group.first_evaluation - 1)];
    group.configuration = display(history, first.configuration, detailed.parameter_order);
  }
  detailed.item->failures = std::move(groups);
}

// The values that a spec declares for its parameters, in order.
void declare_values(const nlohmann::ordered_json& spec, reports::EffectCollector& collector) {
  const auto parameters = spec.find("parameters");
  if (parameters == spec.end() || !parameters->is_object()) return;
  for (const auto& [name, parameter] : parameters->items()) {
    std::vector<std::string> values;
    const auto found = parameter.is_object() ? parameter.find("values") : parameter.end();
    if (parameter.is_object() && found != parameter.end() && found->is_array()) {
      for (const auto& value : *found) {
        values.push_back(value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
      }
    }
    collector.declare(name, values);
  }
}

// All items in one pass over the configurations.
void add_effects(History& history, const std::vector<DetailedItem>& items) {
  struct Use {
    std::int64_t configuration;
    double time_us;
    std::uint32_t item;
  };
  std::vector<Use> uses;
  std::vector<reports::EffectCollector> collectors(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    declare_values(items[i].spec, collectors[i]);
    for (const ScannedTrial& trial : items[i].session->trials) {
      uses.push_back({trial.configuration, trial.time_us, static_cast<std::uint32_t>(i)});
    }
  }
  std::sort(uses.begin(), uses.end(), [](const Use& x, const Use& y) { return x.configuration < y.configuration; });
  std::vector<std::int64_t> rows;
  for (const Use& use : uses) {
    if (rows.empty() || rows.back() != use.configuration) rows.push_back(use.configuration);
  }
  auto use = uses.begin();
  history.configurations(rows, [&](std::int64_t row, std::string_view text) {
    for (; use != uses.end() && use->configuration == row; ++use) {
      collectors[use->item].add(text, use->time_us == use->time_us ? std::optional(use->time_us) : std::nullopt);
    }
  });
  for (std::size_t i = 0; i < items.size(); ++i) items[i].item->effects = collectors[i].effects(kEffectValues);
}

}  // namespace

double seconds_of_utc(std::string_view text) {
  // YYYY-MM-DDTHH:MM:SS.ffffff
  const auto number = [&](std::size_t at, std::size_t length) {
    int value = -1;
    const char* const end = text.data() + at + length;
    return std::from_chars(text.data() + at, end, value).ptr == end ? value : -1;
  };
  if (text.size() < 19) return std::numeric_limits<double>::quiet_NaN();
  const std::array<int, 6> parts = {number(0, 4), number(5, 2), number(8, 2), number(11, 2), number(14, 2), number(17, 2)};
  const std::chrono::year_month_day date{std::chrono::year(parts[0]), std::chrono::month(static_cast<unsigned>(parts[1])),
                                         std::chrono::day(static_cast<unsigned>(parts[2]))};
  if (std::any_of(parts.begin(), parts.end(), [](int part) { return part < 0; }) || !date.ok()) return std::numeric_limits<double>::quiet_NaN();
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  double seconds = static_cast<double>(days) * 86400 + parts[3] * 3600 + parts[4] * 60 + parts[5];
  if (text.size() > 20 && text[19] == '.') {
    const std::size_t digits = std::min<std::size_t>(text.find_first_not_of("0123456789", 20), text.size()) - 20;
    const int fraction = digits > 0 && digits <= 9 ? number(20, digits) : 0;
    seconds += std::max(fraction, 0) * std::pow(10.0, -static_cast<double>(digits));
  }
  return seconds;
}

TrialScan scan_trials(History& history, const std::vector<std::int64_t>& sessions, const reports::Limits& limits) {
  TrialScan scan{{}, {}, reports::FailureGroups(limits.message_bytes)};
  struct Open {
    ScannedSession* session = nullptr;
    double last_recorded = std::numeric_limits<double>::quiet_NaN();
  };
  std::unordered_map<std::int64_t, Open> open;
  for (const std::int64_t session : sessions) open[session].session = &scan.sessions[session];
  std::unordered_map<std::string, std::uint32_t> origins;
  history.trials(sessions, [&](const HistoryTrial& trial) {
    Open& state = open.at(trial.session);
    ScannedTrial scanned;
    scanned.row = trial.row;
    scanned.proposal = trial.proposal;
    scanned.configuration = trial.configuration;
    scanned.outcome = trial.outcome;
    if (has_time(trial.outcome) && trial.median_us && std::isfinite(*trial.median_us) && *trial.median_us > 0) scanned.time_us = *trial.median_us;
    const auto [origin, fresh] = origins.try_emplace(std::string(trial.origin), static_cast<std::uint32_t>(scan.origins.size()));
    if (fresh) scan.origins.push_back(valid_utf8(trial.origin));
    scanned.origin = origin->second;
    if (!has_time(trial.outcome)) scanned.group = scan.groups.group(trial.outcome, trial.message);
    state.session->trials.push_back(scanned);

    reports::Cost& cost = state.session->cost;
    const double recorded = seconds_of_utc(trial.recorded_utc);
    const double busy = trial.reused ? 0 : duration(trial.verify_seconds) + duration(trial.time_seconds);
    const double gap = recorded - state.last_recorded - busy;
    if (gap > 0) cost.idle_seconds += gap;  // not with a NaN
    state.last_recorded = recorded;
    if (trial.reused) return;
    cost.compile_seconds += duration(trial.compile_seconds);
    cost.verify_seconds += duration(trial.verify_seconds);
    cost.time_seconds += duration(trial.time_seconds);
    ++cost.measured;
  });
  for (auto& [row, session] : scan.sessions) {
    const auto all = static_cast<std::int64_t>(session.trials.size());
    session.cost.reused = all - session.cost.measured;
    keep_last_tries(session.trials);
  }
  return scan;
}

std::vector<std::pair<Outcome, std::int64_t>> count_outcomes(const std::vector<const ScannedSession*>& sessions) {
  std::array<std::int64_t, kOutcomes.size()> counts{};
  for (const ScannedSession* session : sessions) {
    for (const ScannedTrial& trial : session->trials) ++counts[static_cast<std::size_t>(trial.outcome)];
  }
  std::vector<std::pair<Outcome, std::int64_t>> result;
  for (const Outcome outcome : kOutcomes) {
    if (counts[static_cast<std::size_t>(outcome)] > 0) result.emplace_back(outcome, counts[static_cast<std::size_t>(outcome)]);
  }
  return result;
}

std::vector<reports::FailureGroup> count_failures(const TrialScan& scan, const std::vector<const ScannedSession*>& sessions, bool evaluations) {
  struct Count {
    std::int64_t count = 0, first = 0;
  };
  std::vector<Count> counts(scan.groups.size());
  for (const ScannedSession* session : sessions) {
    for (std::size_t i = 0; i < session->trials.size(); ++i) {
      const ScannedTrial& trial = session->trials[i];
      if (has_time(trial.outcome)) continue;
      Count& count = counts[trial.group];
      if (count.count++ == 0) count.first = static_cast<std::int64_t>(i) + 1;
    }
  }
  std::vector<reports::FailureGroup> groups;
  for (std::uint32_t group = 0; group < counts.size(); ++group) {
    if (counts[group].count == 0) continue;
    groups.push_back({scan.groups.outcome(group), scan.groups.message(group), counts[group].count, evaluations ? counts[group].first : 0, ""});
  }
  return groups;
}

void add_trial_details(History& history, const TrialScan& scan, const std::vector<DetailedItem>& items, const reports::Limits& limits) {
  if (items.empty()) return;
  const std::size_t points = std::clamp(limits.points / items.size(), kFewestPoints, limits.points_per_item);
  const std::size_t curve_points = std::clamp(limits.points / 4 / items.size(), kFewestCurvePoints, limits.curve_points);
  for (const DetailedItem& detailed : items) {
    add_points(history, scan, detailed, points, limits);
    add_curves(history, detailed, curve_points);
    add_failures(history, scan, detailed, limits.failures);
  }
  add_effects(history, items);
}

}  // namespace tunebook::cli
