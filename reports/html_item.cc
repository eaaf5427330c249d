#include "reports/html_item.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/value.h"
#include "reports/html_page.h"
#include "reports/html_table.h"
#include "reports/html_text.h"
#include "reports/svg_charts.h"

namespace tunebook::reports::page {
namespace {

// The unit in which an item's times are written everywhere.
TimeUnit unit_of(const Item& item) {
  if (const TimeEstimate* time = item.time()) return time_unit(time->median_us);
  for (const TrialPoint& trial : item.trials) {
    if (trial.time_us) return time_unit(*trial.time_us);
  }
  return time_unit(1);
}

const Configuration* winner_configuration(const Item& item) { return item.winner ? &item.winner->configuration : nullptr; }

std::string baseline_text(const BaselineResult& baseline) {
  const std::string name = isolated(baseline.name.empty() ? baseline.operation : baseline.name);
  if (baseline.state != BaselineState::ok || !baseline.time) {
    return fmt::format("{}: {}. {}", name, escape(baseline_state_name(baseline.state)), long_text(baseline.message));
  }
  std::string html = fmt::format("{} {}", name, time_text(baseline.time->median_us));
  if (baseline.ratio) {
    html += fmt::format("; the winner is {} times as fast", number_text(*baseline.ratio));
    if (baseline.ratio_interval) html += fmt::format(" [{:.3f}, {:.3f}]", baseline.ratio_interval->first, baseline.ratio_interval->second);
  }
  return html;
}

std::string ceiling_text(const Item& item) {
  if (!item.ceiling) return "";
  return fmt::format("{} {}, {}: {} at least", number_text(item.ceiling->rate), item.ceiling->bandwidth ? "GB/s" : "GFLOP/s",
                     escape(item.ceiling_phrase), time_text(item.ceiling->floor_us));
}

std::string item_facts(const Item& item, const Detail& detail) {
  std::string winner;
  if (item.winner) winner = configuration_html(item.winner->configuration, nullptr, detail);
  std::string ties;
  if (item.tie_set_size > 1) ties = fmt::format("{} configurations cannot be told apart, the winner among them", count_text(item.tie_set_size));
  std::string session = isolated(cut(item.session_id, 40)) + ", " + isolated(cut(item.date, 40));
  if (item.kind() != SessionKind::search) session += fmt::format("; <b>{}</b>", kind_html(item.kind()));
  if (item.session_count > 1) session += fmt::format("; the newest of {}", count_text(item.session_count));
  return facts({{"shape", values_html(item.key.problem, detail)},
                {"winner", winner},
                {"ties", ties},
                {"ceiling", ceiling_text(item)},
                {"beside it", item.baseline ? baseline_text(*item.baseline) : ""},
                {"trials", fmt::format("{}: {}", count_text(item.trial_count), outcomes_text(item.outcomes))},
                {"device", isolated(cut(item.key.device, 200))},
                {"environment", environment_line(item.environment)},
                {"measured", isolated(item.key.method) + (item.key.objective.empty() || item.key.objective == "time" ? "" : ", objective " + isolated(item.key.objective))},
                {"session", session}});
}

std::string byte_text(std::int64_t bytes) { return bytes < 0 ? std::string() : count_text(bytes); }

// One column of the table of configurations, shown if any row has something in it.
struct TopColumn {
  Column column;
  bool shown = false;
  std::vector<std::pair<std::string, double>> cells;  // text, and by what it is sorted
  void add(std::string text, double sort) {
    shown = shown || !text.empty();
    cells.emplace_back(std::move(text), sort);
  }
  void add_count(std::int64_t count) { add(byte_text(count), count < 0 ? std::nan("") : static_cast<double>(count)); }
};

std::string top_table(const Item& item, const TimeUnit& unit, const Detail& detail) {
  const std::string time_heading = fmt::format("time, {}", unit.name);
  IntervalNames intervals;
  for (const ConfigurationRow& row : item.top) intervals.add(row.time);
  const std::string interval_heading = intervals.heading();
  const std::string first_heading = fmt::format("first pass, {}", unit.name);
  const std::string baseline_heading = item.baseline && !item.baseline->name.empty() ? "of " + escape(cut(item.baseline->name, 30)) : "of baseline";
  std::vector<TopColumn> columns(16);
  enum { kTime, kInterval, kGflops, kGbps, kCeiling, kBaseline, kRegisters, kShared, kSpills, kStack, kBlocks, kEnergy, kClock, kFirst, kOrigin, kSanitizer };
  const std::array<std::string_view, 16> titles = {time_heading, interval_heading, "GFLOP/s", "GB/s", "of ceiling", baseline_heading, "registers",
                                                   "shared, bytes", "spills, bytes", "stack, bytes", "blocks per SM", "energy", "clock, MHz",
                                                   first_heading, "from", "sanitizer"};
  const std::span<const ConfigurationRow> rows = std::span(item.top).first(std::min(item.top.size(), detail.top));
  for (std::size_t c = 0; c < columns.size(); ++c) columns[c].column = {titles[c], c == kOrigin || c == kSanitizer ? "text" : "n"};
  for (const ConfigurationRow& row : rows) {
    const Resources& needs = row.resources;
    columns[kTime].add(row.time ? in_unit(row.time->median_us, unit) : "", row.time ? row.time->median_us : std::nan(""));
    columns[kInterval].add(row.time ? interval_html(*row.time, unit, intervals) : "", row.time ? row.time->low_us : std::nan(""));
    columns[kGflops].add(optional_number(row.rates.gflops), or_nan(row.rates.gflops));
    columns[kGbps].add(optional_number(row.rates.gbps), or_nan(row.rates.gbps));
    columns[kCeiling].add(optional_percent(row.rates.percent_of_ceiling), or_nan(row.rates.percent_of_ceiling));
    columns[kBaseline].add(optional_percent(row.rates.percent_of_baseline), or_nan(row.rates.percent_of_baseline));
    columns[kRegisters].add_count(needs.registers);
    const bool shared = needs.shared_static_bytes >= 0 || needs.shared_dynamic_bytes >= 0;
    columns[kShared].add_count(shared ? std::max<std::int64_t>(0, needs.shared_static_bytes) + std::max<std::int64_t>(0, needs.shared_dynamic_bytes) : -1);
    const bool spills = needs.spill_load_bytes >= 0 || needs.spill_store_bytes >= 0;
    columns[kSpills].add_count(spills ? std::max<std::int64_t>(0, needs.spill_load_bytes) + std::max<std::int64_t>(0, needs.spill_store_bytes) : -1);
    columns[kStack].add_count(needs.stack_bytes);
    columns[kBlocks].add_count(needs.blocks_per_sm);
    columns[kEnergy].add(energy_text(row.energy_j), or_nan(row.energy_j));
    columns[kClock].add(row.sm_clock_mhz ? fmt::format("{:.0f}", *row.sm_clock_mhz) : "", or_nan(row.sm_clock_mhz));
    columns[kFirst].add(row.first_pass ? in_unit(row.first_pass->median_us, unit) : "", row.first_pass ? row.first_pass->median_us : std::nan(""));
    columns[kOrigin].add(isolated(cut(row.origin, 80)), 0);
    if (row.origin.empty()) columns[kOrigin].cells.back().first.clear();
    columns[kSanitizer].add(row.sanitizer.empty() ? std::string() : long_text(row.sanitizer, 40, detail.text), 0);
  }
  std::vector<Column> header = {{"place"}, {"configuration", "text broad"}};
  for (const TopColumn& column : columns) {
    if (column.shown) header.push_back(column.column);
  }
  Table table(fmt::format("Fastest configurations of {}", item.key.shape()), header, {.classes = "sort", .hide_caption = true});
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const ConfigurationRow& row = rows[r];
    table.row(row.winner ? "chosen" : "");
    table.cell(fmt::format("{}{}", r + 1, row.winner ? ", winner" : row.in_tie_set ? ", tied" : row.finalist ? ", finalist" : ""), static_cast<double>(r + 1), "w");
    table.cell(row.winner ? configuration_html(row.configuration, nullptr, detail) : differing_html(row.configuration, winner_configuration(item), detail));
    for (const TopColumn& column : columns) {
      if (!column.shown) continue;
      const bool text = column.column.classes == "text";
      table.cell(column.cells[r].first, text ? std::nullopt : std::optional(column.cells[r].second));
    }
  }
  return std::move(table).finish();
}

// Evenly thinned to at most `most`; whatever matters to a reader (best, worst, improvements) comes first in `keep`.
std::vector<const TrialPoint*> shown_trials(const Item& item, std::size_t most) {
  std::vector<const TrialPoint*> shown;
  if (item.trials.size() <= most) {
    for (const TrialPoint& trial : item.trials) shown.push_back(&trial);
    return shown;
  }
  std::vector<bool> keep(item.trials.size(), false);
  std::size_t kept = 0;
  const auto keep_one = [&](std::size_t i) {
    kept += keep[i] ? 0 : 1;
    keep[i] = true;
  };
  double best = std::numeric_limits<double>::infinity(), worst = 0;
  std::size_t worst_place = 0;
  for (std::size_t i = 0; i < item.trials.size(); ++i) {
    const double us = item.trials[i].time_us.value_or(0);
    if (us > worst) {
      worst = us;
      worst_place = i;
    }
    if (us > 0 && us < best) {
      best = us;
      keep_one(i);
    }
  }
  keep_one(worst_place);
  const std::size_t rest = most > kept ? most - kept : 1;
  for (std::size_t i = 0; i < rest; ++i) keep_one(i * item.trials.size() / rest);
  for (std::size_t i = 0; i < item.trials.size(); ++i) {
    if (keep[i]) shown.push_back(&item.trials[i]);
  }
  return shown;
}

// The kinds of marks in a picture and how many trials of all they are.
std::string mark_key(const Item& item) {
  std::array<std::int64_t, 16> counts{};
  for (const auto& [outcome, count] : item.outcomes) counts[static_cast<std::size_t>(mark_kind(outcome))] += count;
  std::string html = "<ul class=\"key\">";
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const auto kind = static_cast<MarkKind>(k);
    if (counts[k] == 0) continue;
    html += fmt::format("<li><svg viewBox=\"-6 -6 12 12\" aria-hidden=\"true\">{}</svg>{} ({})</li>", mark_svg(kind, 0, 0), mark_name(kind),
                        count_text(counts[k]));
  }
  return html + "</ul>";
}

// Names of all parameters of these trials, in order of appearance.
std::vector<std::string> parameters_of(std::span<const TrialPoint* const> trials) {
  std::vector<std::string> names;
  for (const TrialPoint* trial : trials) {
    for (const auto& [name, value] : trial->configuration.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

// The table behind the scatter plot. It is most of a large page, so that its cells have no classes: page.css knows its columns by place.
std::string trials_table(const Item& item, std::span<const TrialPoint* const> trials, const TimeUnit& unit) {
  constexpr std::size_t kMostValueBytes = 60, kMostMessageBytes = 100;  // the whole message is in the table of failures
  std::vector<std::string> titles = {"evaluation", fmt::format("time, {}", unit.name), "outcome"};
  const std::vector<std::string> parameters = parameters_of(trials);
  for (const std::string& parameter : parameters) titles.push_back(isolated(cut(parameter, kMostValueBytes)));
  titles.push_back("message");
  std::vector<Column> columns;
  for (const std::string& title : titles) columns.push_back({title});
  Table table(fmt::format("Trials of {}", item.key.shape()), columns,
              {.classes = "sort trials", .find = trials.size() > 6 ? "Filter trials" : "", .tall = true, .hide_caption = true});
  for (const TrialPoint* trial : trials) {
    table.row();
    table.cell(fmt::format("{}", trial->evaluation));
    table.cell(trial->time_us ? in_unit(*trial->time_us, unit) : "");
    const std::string preset = trial->origin.starts_with("preset:") ? ", preset " + isolated(cut(trial->origin.substr(7), kMostValueBytes)) : "";
    const std::string others = trial->count > 1 ? fmt::format(", {} more like it", count_text(trial->count - 1)) : "";
    table.cell(outcome_text(trial->outcome) + others + preset);
    for (const std::string& parameter : parameters) {
      const Value* value = trial->configuration.find(parameter);
      table.cell(value == nullptr ? "" : std::holds_alternative<std::string>(*value) ? isolated(cut(to_text(*value), kMostValueBytes)) : to_text(*value));
    }
    table.cell(trial->message.empty() ? "" : isolated(cut(trial->message.substr(0, trial->message.find('\n')), kMostMessageBytes)));
  }
  return std::move(table).finish();
}

std::string trials_card(const Item& item, const TimeUnit& unit, const Detail& detail) {
  const std::vector<const TrialPoint*> trials = shown_trials(item, detail.points);
  std::vector<ScatterMark> marks;
  std::optional<std::size_t> best;
  std::int64_t represented = 0;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const TrialPoint& trial = *trials[i];
    marks.push_back({static_cast<double>(trial.evaluation), trial.time_us, mark_kind(trial.outcome)});
    if (trial.time_us && (!best || *trial.time_us < *trials[*best]->time_us)) best = i;
    represented += trial.count;
  }
  const std::string caption = represented < item.trial_count
      ? fmt::format("<p class=\"note muted\">{} of {} trials; the best, the worst and every improvement among them.</p>", count_text(represented), count_text(item.trial_count))
      : "";
  const std::string label = fmt::format("Time of each of {} over the search, failures above the plot; the table below has the numbers.", plural(item.trial_count, "trial"));
  return figure_card("Every configuration tried", caption, scatter_svg(marks, static_cast<double>(item.trial_count), best, unit, label) + mark_key(item),
                     trials_table(item, trials, unit));
}

std::string convergence_card(const Item& item, const TimeUnit& unit, const Detail& detail) {
  std::vector<CurvePoint> best, random;
  for (const BestSoFar& point : item.convergence) best.emplace_back(static_cast<double>(point.evaluation), point.time_us);
  for (const RandomExpectation& point : item.random_expectation) random.emplace_back(static_cast<double>(point.evaluation), point.time_us);
  Table table(fmt::format("Improvements in the search of {}", item.key.shape()),
              {{"evaluation", "n"}, {fmt::format("best so far, {}", unit.name), "n"}, {fmt::format("random search by then, {}", unit.name), "n"}, {"configuration", "text"}},
              {.tall = true, .hide_caption = true});
  for (const BestSoFar& point : item.convergence) {
    // The random search has found something by its last point that is not later.
    auto after = std::upper_bound(item.random_expectation.begin(), item.random_expectation.end(), point.evaluation,
                                  [](std::int64_t evaluation, const RandomExpectation& expected) { return evaluation < expected.evaluation; });
    table.row();
    table.cell(fmt::format("{}", point.evaluation));
    table.cell(in_unit(point.time_us, unit));
    table.cell(after == item.random_expectation.begin() ? "" : in_unit(std::prev(after)->time_us, unit));
    table.cell(listed(point.configuration, 600, detail.text));
  }
  return figure_card("Best so far vs evaluations", "",
                     convergence_svg(best, random, static_cast<double>(item.trial_count), unit,
                                     fmt::format("The best time found falls to {} over {}; random search is expected to reach {}.",
                                                 best.empty() ? "nothing" : time_text(best.back().second), plural(item.trial_count, "evaluation"),
                                                 random.empty() ? "nothing" : time_text(random.back().second))) +
                         "<ul class=\"key\"><li><svg viewBox=\"0 0 12 12\" aria-hidden=\"true\"><path class=\"curve\" d=\"M0 6H12\"/></svg>this search</li>"
                         "<li><svg viewBox=\"0 0 12 12\" aria-hidden=\"true\"><path class=\"random\" d=\"M0 6H12\"/></svg>random search, expected</li></ul>",
                     std::move(table).finish());
}

// One small table for each parameter beside each other.
std::string effects_card(const Item& item, const TimeUnit& unit) {
  double best = std::numeric_limits<double>::infinity();
  for (const ParameterEffect& effect : item.effects) {
    for (const EffectValue& value : effect.values) best = std::min(best, value.best_us.value_or(best));
  }
  std::string html = "<p class=\"note muted\">The best and the median time of the trials with each value; bars: speed of the best; \u00d7: how much the choice "
                     "matters for the best.</p><div class=\"small\">";
  for (const ParameterEffect& effect : item.effects) {
    const std::string spread = effect.spread_of_best ? fmt::format(" \u00d7{:.2f}", *effect.spread_of_best) : "";
    Table table(cut(effect.parameter, 60) + spread, {{"value"}, {"<span class=\"hide\">speed</span>", "bar"}, {fmt::format("best, {}", unit.name), "n"}, {"median", "n"}, {"timed", "n"}});
    for (const EffectValue& value : effect.values) {
      table.row();
      table.cell(isolated(cut(value.value, 40)));
      table.cell(value.best_us ? bar_svg(100 * best / *value.best_us) : "");
      table.cell(value.best_us ? in_unit(*value.best_us, unit) : "");
      table.cell(value.median_us ? in_unit(*value.median_us, unit) : "");
      table.cell(fmt::format("{} of {}", count_text(value.timed), count_text(value.trials)));
    }
    html += std::move(table).finish();
  }
  return card(4, "Effect of each parameter", html + "</div>", true);
}

std::string ladder_card(const Item& item, const TimeUnit& unit, const Detail& detail) {
  double best = std::numeric_limits<double>::infinity();
  bool ceiling = false;
  for (const LadderRung& rung : item.ladder) {
    if (rung.time) best = std::min(best, rung.time->median_us);
    ceiling = ceiling || rung.rates.percent_of_ceiling;
  }
  const std::string time_heading = fmt::format("time, {}", unit.name);
  std::vector<Column> columns = {{"rung"}, {time_heading, "n"}, {"speed", "bar"}, {"gain", "n"}, {"in all", "n"}};
  if (ceiling) columns.push_back({"of ceiling", "n"});
  columns.push_back({"configuration, or what went wrong", "text broad"});
  Table table(fmt::format("Presets and winner of {}", item.key.shape()), columns, {.hide_caption = true});
  for (const LadderRung& rung : item.ladder) {
    table.row(rung.winner ? "chosen" : "");
    table.cell(rung.winner ? "<b>winner</b>" : isolated(cut(rung.name, 60)));
    table.cell(rung.time ? in_unit(rung.time->median_us, unit) : "");
    table.cell(rung.time ? bar_svg(100 * best / rung.time->median_us) : fmt::format("<span class=\"bad\">{}</span>", outcome_text(rung.outcome)));
    table.cell(rung.gain ? fmt::format("\u00d7{:.2f}", *rung.gain) : "");
    table.cell(rung.gain_in_all ? fmt::format("\u00d7{:.2f}", *rung.gain_in_all) : "");
    if (ceiling) table.cell(optional_percent(rung.rates.percent_of_ceiling));
    table.cell(rung.message.empty() ? rung.winner ? configuration_html(rung.configuration, nullptr, detail) : differing_html(rung.configuration, winner_configuration(item), detail) : long_text(rung.message, 120, detail.text));
  }
  return card(4, "Ladder of presets", std::move(table).finish(), true);
}

std::string trend_card(const Item& item, const TimeUnit& unit, const Detail& detail) {
  IntervalNames intervals;
  for (const TrendPoint& point : item.trend) intervals.add(point.time);
  const std::string time_heading = fmt::format("time, {}", unit.name), interval_heading = intervals.heading();
  Table table(fmt::format("Nights of {}", item.key.shape()),
              {{"date"}, {"session", "w"}, {time_heading, "n"}, {interval_heading, "n"}, {"changed", "text"}, {"configuration", "text"}, {"its id", "mono"}},
              {.tall = true, .hide_caption = true});
  for (const TrendPoint& point : item.trend) {
    table.row();
    table.cell(isolated(cut(point.date, 40)), std::nullopt, "w");
    table.cell(night_kind(point.kind));
    table.cell(in_unit(point.time.median_us, unit));
    table.cell(interval_html(point.time, unit, intervals));
    table.cell(long_text(night_changes(point), 160, detail.text));
    const bool as_before = &point != &item.trend.front() && !point.configuration_changed;
    table.cell(as_before ? "<span class=\"muted\">as the night before</span>" : long_text(point.configuration, 60, detail.text));
    table.cell(isolated(cut(point.session_id, 40)));
  }
  const std::vector<NightMark> marks = night_marks(item.trend);
  const double change = item.trend.back().time.median_us / item.trend.front().time.median_us - 1;
  return figure_card("Trend over nights", "<p class=\"note muted\">The winner of each night.</p>",
                     nights_svg(marks, unit,
                                fmt::format("{} from {} to {}: {} to {}, {}.", plural(static_cast<long long>(item.trend.size()), "night"), item.trend.front().date, item.trend.back().date,
                                            time_text(item.trend.front().time.median_us), time_text(item.trend.back().time.median_us), change_text(change))) +
                         nights_key(marks),
                     std::move(table).finish());
}

std::string reproduce_card(const Item& item, const Detail& detail) {
  const Reproduction& how = item.reproduction;
  return card(4, "How to reproduce", "<pre><bdi>" + escape(cut(how.command, detail.text)) + "</bdi></pre>" +
                                      facts({{"book", isolated(cut(how.book, 400))},
                                             {"session", isolated(cut(how.session_id, 40))},
                                             {"seed", fmt::format("{}", how.seed)},
                                             {"kernel hash", isolated(cut(how.kernel_hash, 80))},
                                             {"toolchain", long_text(how.toolchain, 200, detail.text)}}));
}

}  // namespace

std::string item_summary(const Item& item) {
  const TimeEstimate* time = item.time();
  if (time == nullptr) {
    if (!item.finished) return fmt::format("session not finished, {} so far", plural(item.trial_count, "trial"));
    return fmt::format("no winner: {}", item.outcomes.empty() ? "no trials" : outcomes_text(item.outcomes));
  }
  std::string text = time_text(time->median_us);
  const Rates& rates = item.winner->rates;
  if (rates.gbps && (!counts_arithmetic(item) || !rates.gflops)) text += fmt::format(", {} GB/s", number_text(*rates.gbps));
  else if (rates.gflops) text += fmt::format(", {} GFLOP/s", number_text(*rates.gflops));
  if (rates.percent_of_ceiling) text += fmt::format(", {} of the ceiling", percent_text(*rates.percent_of_ceiling));
  if (rates.percent_of_baseline) text += fmt::format(", {} of the speed of {}", percent_text(*rates.percent_of_baseline), item.baseline ? baseline_name(item) : "the baseline");
  if (item.key.objective == "energy" && item.winner->energy_j) text += ", " + energy_text(item.winner->energy_j);
  if (item.kind() != SessionKind::search) text += fmt::format("; {}", session_kind_short(item.kind()));
  return text;
}

namespace {

// Pictures and tables of the trials of a session.
std::string course_html(const Item& item, const TimeUnit& unit, const Detail& detail, bool whole) {
  std::string cards, html;
  if (whole) {
    if (!item.trials.empty()) cards += trials_card(item, unit, detail);
    if (!item.convergence.empty()) cards += convergence_card(item, unit, detail);
    if (!item.effects.empty()) cards += effects_card(item, unit);
  }
  if (item.ladder.size() > 1) cards += ladder_card(item, unit, detail);
  if (!cards.empty()) html += "<div class=\"cards\">" + cards + "</div>\n";
  if (whole && !item.failures.empty()) html += "<h4>Failures by message</h4>" + failures_table(item.failures, item.failure_groups, detail);
  return html;
}

// Of an item whose session searched nothing: that its trials say little, and what the search before it found.
std::string search_html(const Item& item, const TimeUnit& unit, const Detail& detail, bool whole) {
  const bool failures = !item.failures.empty();
  if (item.search.empty()) return (item.ladder.size() > 1 || failures) ? course_html(item, unit, detail, false) : "";
  const Item& search = item.search.front();
  std::string html = failures ? "<h4>Failures by message</h4>" + failures_table(item.failures, item.failure_groups, detail) : "";
  const std::string trials = search.outcomes.empty() ? "" : fmt::format("; {}: {}", plural(search.trial_count, "trial"), outcomes_text(search.outcomes));
  html += fmt::format("<h4>The search before it, {}</h4>\n<p class=\"muted note\">Session {}, {}{}.{}</p>\n", isolated(cut(search.date, 40)), isolated(cut(search.session_id, 40)),
                      isolated(cut(search.strategy, 60)), trials, search.finished ? "" : " It is not finished.");
  if (!search.top.empty()) html += top_table(search, unit, detail);
  return html + course_html(search, unit, detail, whole);
}

}  // namespace

std::string item_html(const Item& item, const Detail& detail, bool whole) {
  const TimeUnit unit = unit_of(item);
  std::string html = item_facts(item, detail);
  if (!item.top.empty()) html += "<h4>Fastest configurations</h4>" + top_table(item, unit, detail);
  html += item.kind() == SessionKind::search ? course_html(item, unit, detail, whole) : search_html(item, unit, detail, whole);
  std::string rest;
  if (item.cost.wall_seconds > 0 || item.cost.measured > 0) rest += card(4, "Cost", cost_table(item.cost));
  if (item.trend.size() > 1) rest += trend_card(item, unit, detail);
  return html + "<div class=\"cards\">" + rest + reproduce_card(item, detail) + "</div>\n";
}

std::string item_sections(std::span<const ItemSection> sections, const Detail& detail) {
  std::vector<std::size_t> by_trials(sections.size());
  std::iota(by_trials.begin(), by_trials.end(), std::size_t{0});
  const auto trials = [&](std::size_t i) {
    const Item& item = *sections[i].item;
    return item.search.empty() ? item.trial_count : item.search.front().trial_count;
  };
  std::stable_sort(by_trials.begin(), by_trials.end(), [&](std::size_t x, std::size_t y) { return trials(x) > trials(y); });
  std::vector<bool> whole(sections.size(), false);
  std::vector<bool> named(sections.size(), true);  // and no more
  for (std::size_t i = 0; i < std::min(by_trials.size(), detail.pictures); ++i) whole[by_trials[i]] = true;
  for (std::size_t i = 0; i < std::min(by_trials.size(), detail.items); ++i) named[by_trials[i]] = false;

  std::string html;
  const auto say = [&](std::string_view what, std::size_t count) {
    if (sections.size() > count) html += fmt::format("<p class=\"muted\">{} of the {} with most trials.</p>", what, plural(static_cast<long long>(count), "item"));
  };
  say("Details", detail.items);
  say("Trials, convergence and effects", std::min(detail.pictures, detail.items));
  if (sections.size() == 1) {
    const ItemSection& only = sections.front();
    return html + fmt::format("<div id=\"{}\"><h3>{} \u00b7 {}</h3>{}{}</div>\n", only.id, only.name, only.summary, only.before, item_html(*only.item, detail, whole[0]));
  }
  constexpr std::size_t kMany = 12;  // five pages of paper each
  const bool many = sections.size() > kMany;
  if (many) html += "<p class=\"muted note\">On paper: the shapes that are open.</p>\n";
  html += fmt::format("<div{}{}>", sections.size() > 6 ? " data-find=\"Filter shapes\"" : "", many ? " class=\"many\"" : "");
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const ItemSection& section = sections[i];
    if (named[i]) {
      html += fmt::format("<p id=\"{}\">{} \u00b7 {}</p>\n", section.id, section.name, section.summary);
      continue;
    }
    html += fmt::format("<details class=\"shape\" id=\"{}\"><summary><h3>{}</h3> \u00b7 {}</summary>{}{}</details>\n", section.id, section.name, section.summary,
                        section.before, item_html(*section.item, detail, whole[i]));
  }
  return html + "</div>\n";
}

std::string other_devices_note(std::span<const Item> items) {
  const auto any = [&](std::string_view kind) { return std::any_of(items.begin(), items.end(), [&](const Item& item) { return item.key.device_kind == kind; }); };
  std::string html;
  if (any("cpu")) html += "<p>Times of the <b>cpu</b> device are times of this processor. They predict nothing for a GPU.</p>\n";
  if (any("replay")) html += "<p>Times of a <b>replay</b> device come from a recording. Nothing was measured.</p>\n";
  return html;
}

}  // namespace tunebook::reports::page
