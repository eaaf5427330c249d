#include "reports/markdown.h"

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

constexpr std::size_t kNameBytes = 120;
constexpr std::size_t kConfigurationBytes = 300;
constexpr std::size_t kMessageBytes = 300;
// A comment on GitHub holds 65,536 characters.
constexpr std::size_t kRows = 100;
constexpr std::size_t kCommands = 10;

struct MarkdownTable {
  std::vector<std::string> header;
  std::vector<bool> right;
  std::vector<std::vector<std::string>> rows;

  void column(std::string name, bool right_aligned) {
    header.push_back(std::move(name));
    right.push_back(right_aligned);
  }
  std::string to_markdown() const {
    std::string text = "|";
    for (const std::string& name : header) text += fmt::format(" {} |", name);
    text += "\n|";
    for (const bool each : right) text += each ? " ---: |" : " --- |";
    text += "\n";
    for (const auto& row : rows) {
      text += "|";
      for (const std::string& cell : row) text += fmt::format(" {} |", cell);
      text += "\n";
    }
    return text;
  }
};

bool one_device(const std::vector<Item>& items) {
  std::set<std::string> keys;
  for (const Item& item : items) keys.insert(item.key.device_key + '\n' + item.key.method + '\n' + item.key.objective);
  return keys.size() <= 1;
}

std::string place_text(const ItemKey& key) {
  std::string text = markdown_text(key.device, kNameBytes);
  if (key.objective != "time") text += ", " + markdown_text(key.objective, kNameBytes);
  return text + ", " + markdown_text(key.method, kNameBytes);
}

std::string environment_markdown(const Side& side) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, side.environment.size()); ++i) {
    const Labelled each = shown_entry(side.environment[i]);
    text += fmt::format("{}{} {}", text.empty() ? "" : " · ", markdown_text(each.label, kNameBytes), markdown_text(each.value, kNameBytes));
  }
  return text;
}

std::string device_remark(const std::vector<Item>& items) {
  const auto any = [&](const char* kind) { return std::any_of(items.begin(), items.end(), [&](const Item& item) { return item.key.device_kind == kind; }); };
  std::string text;
  if (any("cpu")) text += "Times of the cpu device are real CPU times, no prediction for a GPU.\n\n";
  if (any("replay")) text += "Times of the replay device are recorded ones.\n\n";
  return text;
}

std::string notes_markdown(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += fmt::format("- {}\n", markdown_text(note, 500));
  return text.empty() ? text : "\n" + text;
}

std::string failures_markdown(const std::vector<FailureGroup>& failures, std::int64_t groups) {
  if (failures.empty()) return "";
  MarkdownTable table;
  table.column("failures", true);
  table.column("kind", false);
  table.column("message", false);
  for (const FailureGroup& group : failures) {
    table.rows.push_back({count_text(group.count), std::string(outcome_name(group.outcome)), markdown_code(group.message, kMessageBytes)});
  }
  std::string text = "\n" + table.to_markdown();
  const std::int64_t more = groups - static_cast<std::int64_t>(failures.size());
  return more > 0 ? text + fmt::format("\nand {} more kinds of failure\n", count_text(more)) : text;
}

// Commands as an indented block: no fence in them can end it.
std::string commands_markdown(const std::vector<Item>& items) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kCommands, items.size()); ++i) text += "    " + one_line(items[i].reproduction.command, 2000) + "\n";
  if (text.empty()) return text;
  if (items.size() > kCommands) text += fmt::format("\nand {} more; `--json` has them all\n", count_text(static_cast<std::int64_t>(items.size() - kCommands)));
  return "\nTo measure again:\n\n" + text;
}

std::string item_rows(const std::vector<Item>& items) {
  const bool alone = one_device(items);
  IntervalNames intervals;
  bool energies = false;
  for (const Item& item : items) {
    intervals.add(item.time());
    energies = energies || (item.winner && item.winner->energy_j);
  }
  MarkdownTable table;
  table.column("kernel", false);
  table.column("shape", false);
  if (!alone) table.column("device", false);
  table.column(fmt::format("winner ({})", intervals.heading()), true);
  if (energies) table.column("energy", true);
  table.column("rate", true);
  table.column("of ceiling", true);
  table.column("baseline / winner", true);
  table.column("trials", true);
  table.column("configuration", false);
  for (std::size_t i = 0; i < std::min(kRows, items.size()); ++i) {
    const Item& item = items[i];
    std::vector<std::string> row = {markdown_text(item.key.kernel, kNameBytes), markdown_code(item.key.shape(), kNameBytes)};
    if (!alone) row.push_back(place_text(item.key));
    row.push_back(time_text(item.time(), intervals));
    if (energies) row.push_back(energy_text(item.winner ? item.winner->energy_j : std::nullopt));
    row.push_back(item.winner ? rate_text(item, item.winner->rates) : "-");
    row.push_back(item.winner ? ceiling_text(item.winner->rates) : "-");
    row.push_back(baseline_text(item));
    row.push_back(trials_text(item));
    row.push_back(item.winner ? markdown_code(item.winner->configuration.display(), kConfigurationBytes) : item.finished ? "no winner" : "not finished");
    table.rows.push_back(std::move(row));
  }
  std::string text = table.to_markdown();
  if (items.size() > kRows) text += fmt::format("\nand {} more shapes; `--html` and `--json` have them all\n", count_text(static_cast<std::int64_t>(items.size() - kRows)));
  if (const std::string legend = intervals.legend(); !legend.empty()) text += "\n" + legend + "\n";
  for (const SessionKind kind : {SessionKind::retime, SessionKind::finalists}) {
    if (std::none_of(items.begin(), items.end(), [&](const Item& item) { return item.kind() == kind; })) continue;
    text += fmt::format("\n{}: the session {}.\n", session_kind_short(kind), session_kind_words(kind));
  }
  return text;
}

std::string compared_rows(const std::vector<const ComparedItem*>& items) {
  std::set<std::string> devices;
  for (const ComparedItem* item : items) devices.insert(item->key.device_key);
  MarkdownTable table;
  table.column("verdict", false);
  table.column("kernel", false);
  table.column("shape", false);
  if (devices.size() > 1) table.column("device", false);
  table.column("base", true);
  table.column("candidate", true);
  table.column("change", true);
  table.column("95 % interval", true);
  const bool energies = std::any_of(items.begin(), items.end(), [](const ComparedItem* item) { return has_energy(*item); });
  if (energies) table.column("energy", true);
  table.column("what changed", false);
  const auto time = [](const std::optional<TimeEstimate>& estimate) { return estimate ? format_time_us(estimate->median_us) : std::string("-"); };
  for (std::size_t i = 0; i < std::min(kRows, items.size()); ++i) {
    const ComparedItem& item = *items[i];
    const bool flagged = item.verdict == Verdict::regression || item.verdict == Verdict::improvement;
    const std::string verdict(verdict_name(item.verdict));
    std::vector<std::string> row = {flagged ? "**" + verdict + "**" : verdict, markdown_text(item.key.kernel, kNameBytes),
                                    markdown_code(item.key.shape(), kNameBytes)};
    if (devices.size() > 1) row.push_back(place_text(item.key));
    row.push_back(time(item.base_time));
    row.push_back(time(item.candidate_time));
    row.push_back(item.change ? change_text(*item.change) : "-");
    row.push_back(change_interval_text(item));
    if (energies) row.push_back(energies_text(item));
    row.push_back(markdown_text(difference_text(item), kConfigurationBytes));
    table.rows.push_back(std::move(row));
  }
  std::string text = table.to_markdown();
  if (items.size() > kRows) text += fmt::format("\nand {} more; `--html` and `--json` have them all\n", count_text(static_cast<std::int64_t>(items.size() - kRows)));
  return text;
}

}  // namespace

std::string markdown_text(std::string_view text, std::size_t bytes) {
  constexpr std::string_view kMarkup = "\\`*_{}[]()#+-.!|~:^=$";
  std::string escaped;
  for (const char c : one_line(text, bytes)) {
    if (c == '&') escaped += "&amp;";
    else if (c == '<') escaped += "&lt;";
    else if (c == '>') escaped += "&gt;";
    // Names and addresses of people and repositories would become mentions and links.
    else if (c == '@') escaped += "@<!-- -->";
    else if (kMarkup.find(c) != std::string_view::npos && c != '-' && c != '.' && c != '+' && c != '(' && c != ')' && c != ':' && c != '=') escaped += std::string("\\") + c;
    else escaped += c;
  }
  // "https://" and "www." link by themselves.
  for (const std::string_view begin : {"://", "www."}) {
    for (std::size_t at = escaped.find(begin); at != std::string::npos; at = escaped.find(begin, at + begin.size() + 8)) {
      escaped.insert(at + (begin == "www." ? 3 : 1), "<!-- -->");
    }
  }
  return escaped;
}

std::string markdown_code(std::string_view text, std::size_t bytes) {
  std::string line = one_line(text, bytes);
  if (line.empty()) return "";
  std::size_t longest = 0, run = 0;
  for (const char c : line) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  std::string escaped;
  for (const char c : line) escaped += c == '|' ? std::string("\\|") : std::string(1, c);  // also in a code span the cell would end
  const std::string fence(longest + 1, '`');
  const bool pad = line.front() == '`' || line.back() == '`' || (line.front() == ' ' && line.back() == ' ');
  return fence + (pad ? " " : "") + escaped + (pad ? " " : "") + fence;
}

std::string to_markdown(const Report& report) {
  std::string text = fmt::format("## {}\n\n{}\n\n", markdown_text(report.title, 300), markdown_text(report.summary, 500));
  if (const std::string environment = environment_markdown(report.side); !environment.empty()) text += environment + "\n\n";
  text += device_remark(report.items);
  if (!report.items.empty()) text += item_rows(report.items);
  text += fmt::format("\nTrials: {}. Cost: {}.\n", markdown_text(outcomes_text(report.outcomes), 500), cost_text(report.cost));
  text += failures_markdown(report.failures, report.failure_groups);
  text += notes_markdown(report.notes);
  return text + commands_markdown(report.items);
}

std::string to_markdown(const Comparison& comparison) {
  std::string text = fmt::format("## {}\n\n**{}**\n\n", markdown_text(comparison.title, 300), markdown_text(comparison.verdict_line, 1000));
  text += fmt::format("Base {}, candidate {}, exit code {}.\n\n", markdown_code(comparison.base.side.label, 300),
                      markdown_code(comparison.candidate.side.label, 300), comparison.exit_code);
  text += device_remark(comparison.candidate.items);
  if (!comparison.differences.empty()) {
    MarkdownTable table;
    table.column("differs", false);
    table.column("base", false);
    table.column("candidate", false);
    table.column("as a gate", false);
    for (const auto& [shown, more] : shown_differences(comparison)) {
      const EnvironmentDifference& difference = *shown;
      const Labelled base = shown_entry({difference.label, difference.base}), candidate = shown_entry({difference.label, difference.candidate});
      table.rows.push_back({markdown_text(base.value.empty() ? candidate.label : base.label, kNameBytes), markdown_text(base.value, kConfigurationBytes),
                            markdown_text(candidate.value, kConfigurationBytes),
                            !difference.matters ? "does not matter" : difference.allowed ? "allowed" : "**refused**"});
      if (more > 0) table.rows.push_back({markdown_text(difference.label, kNameBytes), fmt::format("{} more", more), "", ""});
    }
    text += table.to_markdown() + "\n";
  }
  std::vector<const ComparedItem*> flagged, others;
  for (const ComparedItem& item : comparison.items) {
    (item.verdict == Verdict::regression || item.verdict == Verdict::improvement ? flagged : others).push_back(&item);
  }
  text += flagged.empty() ? std::string("No regression and no improvement.\n") : compared_rows(flagged);
  if (!others.empty()) {
    text += fmt::format("\n<details><summary>{} others</summary>\n\n{}\n</details>\n", count_text(static_cast<std::int64_t>(others.size())), compared_rows(others));
  }
  text += notes_markdown(comparison.notes);
  return text + commands_markdown(comparison.candidate.items);
}

}  // namespace tunebook::reports
