#include "reports/text.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/text_table.h"
#include "reports/comparison.h"
#include "reports/wording.h"

namespace tunebook::reports {

using namespace plain;  // the words of this file

namespace {

constexpr std::size_t kNameBytes = 60;
constexpr std::size_t kConfigurationBytes = 120;
constexpr std::size_t kMessageBytes = 160;
constexpr std::size_t kFailures = 5;

struct Style {
  bool colour;
  std::string paint(const char* code, const std::string& text) const { return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text; }
  std::string bold(const std::string& text) const { return paint("1", text); }
  std::string of(Verdict verdict, const std::string& text) const {
    return verdict == Verdict::regression ? paint("31", text) : verdict == Verdict::improvement ? paint("32", text) : text;
  }
};

// The columns that tell items of a report apart: a device that is the same everywhere need not stand in each row.
struct Names {
  bool device = false, method = false, objective = false;
  template <class Items, class Key>
  Names(const Items& items, Key&& key_of) {
    std::set<std::string> devices, methods, objectives;
    for (const auto& item : items) {
      const ItemKey& key = key_of(item);
      devices.insert(key.device_key);
      methods.insert(key.method);
      objectives.insert(key.objective);
    }
    device = devices.size() > 1;
    method = methods.size() > 1;
    objective = objectives.size() > 1;
  }
  void add_header(TextTable& table) const {
    for (const char* name : {"kernel", "shape"}) table.header.emplace_back(name);
    if (device) table.header.emplace_back("device");
    if (method) table.header.emplace_back("method");
    if (objective) table.header.emplace_back("objective");
    table.right.resize(table.header.size(), false);
  }
  std::vector<std::string> cells(const ItemKey& key) const {
    std::vector<std::string> row = {one_line(key.kernel, kNameBytes), one_line(key.shape(), kNameBytes)};
    if (device) row.push_back(one_line(key.device, kNameBytes));
    if (method) row.push_back(one_line(key.method, kNameBytes));
    if (objective) row.push_back(one_line(key.objective, kNameBytes));
    return row;
  }
};

void add_column(TextTable& table, std::string name, bool right) {
  table.header.push_back(std::move(name));
  table.right.push_back(right);
}

// Times of these devices are taken for GPU times too easily.
std::string device_remark(const std::vector<Item>& items) {
  std::string text;
  const auto any = [&](const char* kind) { return std::any_of(items.begin(), items.end(), [&](const Item& item) { return item.key.device_kind == kind; }); };
  if (any("cpu")) text += "cpu device: real CPU times, no prediction for a GPU\n";
  if (any("replay")) text += "replay device: recorded times\n";
  return text;
}

// What the remarks beside numbers of trials mean.
std::string kinds_text(const std::vector<Item>& items) {
  std::string text;
  for (const SessionKind kind : {SessionKind::retime, SessionKind::finalists}) {
    if (std::none_of(items.begin(), items.end(), [&](const Item& item) { return item.kind() == kind; })) continue;
    text += fmt::format("{}: the session {}\n", session_kind_short(kind), session_kind_words(kind));
  }
  return text;
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += fmt::format("note: {}\n", one_line(note, 400));
  return text;
}

}  // namespace

std::string to_text(const Report& report, bool colour) {
  const Style style{colour};
  std::string text = style.bold(one_line(report.title, 200)) + "\n" + one_line(report.summary, 300) + "\n";
  text += device_remark(report.items);
  if (!report.items.empty()) {
    const Names names(report.items, [](const Item& item) -> const ItemKey& { return item.key; });
    IntervalNames intervals;
    bool energies = false;
    for (const Item& item : report.items) {
      intervals.add(item.time());
      energies = energies || (item.winner && item.winner->energy_j);
    }
    TextTable table;
    names.add_header(table);
    add_column(table, fmt::format("winner ({})", intervals.heading()), true);
    if (energies) add_column(table, "energy", true);
    add_column(table, "rate", true);
    add_column(table, "of ceiling", true);
    add_column(table, "baseline", true);
    add_column(table, "trials", true);
    add_column(table, "date", false);
    add_column(table, "configuration", false);
    for (const Item& item : report.items) {
      std::vector<std::string> row = names.cells(item.key);
      row.push_back(time_text(item.time(), intervals));
      if (energies) row.push_back(energy_text(item.winner ? item.winner->energy_j : std::nullopt));
      row.push_back(item.winner ? rate_text(item, item.winner->rates) : "-");
      row.push_back(item.winner ? ceiling_text(item.winner->rates) : "-");
      row.push_back(baseline_text(item));
      row.push_back(trials_text(item));
      row.push_back(item.date);
      row.push_back(item.winner     ? one_line(item.winner->configuration.display(), kConfigurationBytes)
                    : item.finished ? "no winner"
                                    : "not finished");
      table.rows.push_back(std::move(row));
    }
    text += "\n" + table.to_text() + "\n" + kinds_text(report.items);
  }
  text += "trials: " + outcomes_text(report.outcomes) + "\n";
  for (std::size_t i = 0; i < std::min(kFailures, report.failures.size()); ++i) {
    const FailureGroup& group = report.failures[i];
    text += fmt::format("  {} x {}: {}\n", count_text(group.count), outcome_name(group.outcome), one_line(group.message, kMessageBytes));
  }
  if (report.failure_groups > static_cast<std::int64_t>(kFailures)) {
    text += fmt::format("  and {} more kinds of failure\n", count_text(report.failure_groups - static_cast<std::int64_t>(kFailures)));
  }
  text += "cost: " + cost_text(report.cost) + "\n";
  return text + notes_text(report.notes);
}

std::string to_text(const Comparison& comparison, bool colour) {
  const Style style{colour};
  std::string text = style.bold(one_line(comparison.verdict_line, 1000)) + "\n";
  text += fmt::format("base: {}; candidate: {}\n", one_line(comparison.base.side.label, 200), one_line(comparison.candidate.side.label, 200));
  text += device_remark(comparison.candidate.items);
  for (const auto& [shown, more] : shown_differences(comparison)) {
    const EnvironmentDifference& difference = *shown;
    const char* remark = !difference.matters ? "" : difference.allowed ? " (allowed)" : " (not comparable as a gate)";
    const Labelled base = shown_entry({difference.label, difference.base}), candidate = shown_entry({difference.label, difference.candidate});
    text += fmt::format("differs: {}: {} -> {}{}\n", one_line(base.value.empty() ? candidate.label : base.label, kNameBytes), one_line(base.value, kConfigurationBytes),
                        one_line(candidate.value, kConfigurationBytes), remark);
    if (more > 0) text += fmt::format("differs: {}: {} more\n", one_line(difference.label, kNameBytes), more);
  }
  if (!comparison.items.empty()) {
    const Names names(comparison.items, [](const ComparedItem& item) -> const ItemKey& { return item.key; });
    const bool energies = std::any_of(comparison.items.begin(), comparison.items.end(), has_energy);
    TextTable table;
    add_column(table, "verdict", false);
    names.add_header(table);
    add_column(table, "base", true);
    add_column(table, "candidate", true);
    add_column(table, "change", true);
    add_column(table, "95 % interval", true);
    add_column(table, "gate", true);
    if (energies) add_column(table, "energy", true);
    add_column(table, "what changed", false);
    for (const ComparedItem& item : comparison.items) {
      std::vector<std::string> row = {style.of(item.verdict, std::string(verdict_name(item.verdict)))};
      for (std::string& cell : names.cells(item.key)) row.push_back(std::move(cell));
      const auto time = [](const std::optional<TimeEstimate>& estimate) { return estimate ? format_time_us(estimate->median_us) : std::string("-"); };
      row.push_back(time(item.base_time));
      row.push_back(time(item.candidate_time));
      row.push_back(item.change ? style.of(item.verdict, change_text(*item.change)) : "-");
      row.push_back(change_interval_text(item));
      row.push_back(fmt::format("{:.1f} %", 100 * item.gate));
      if (energies) row.push_back(energies_text(item));
      row.push_back(one_line(difference_text(item), kConfigurationBytes));
      table.rows.push_back(std::move(row));
    }
    text += "\n" + table.to_text();
    // Why there is no verdict is what a reader asks next.
    for (const ComparedItem& item : comparison.items) {
      const bool lost = item.base && item.candidate && (item.verdict == Verdict::only_base || item.verdict == Verdict::only_candidate);
      if ((item.verdict != Verdict::inconclusive && !lost) || item.reason.empty()) continue;
      text += fmt::format("{}: {} {}: {}\n", verdict_name(item.verdict), one_line(item.key.kernel, kNameBytes), one_line(item.key.shape(), kNameBytes), one_line(item.reason, 300));
    }
  }
  return text + notes_text(comparison.notes);
}

}  // namespace tunebook::reports
