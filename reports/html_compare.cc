#include "reports/html_compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/comparison.h"
#include "reports/html_item.h"
#include "reports/html_overview.h"
#include "reports/html_page.h"
#include "reports/html_table.h"
#include "reports/html_text.h"
#include "reports/wording.h"

namespace tunebook::reports::page {
namespace {

bool is_flag(Verdict verdict) { return verdict == Verdict::regression || verdict == Verdict::improvement; }

// The verdict as a word; the sign before it is for the eye alone.
std::string verdict_html(Verdict verdict) {
  const std::string_view name = verdict_name(verdict);
  if (!is_flag(verdict)) return std::string(name);
  return fmt::format("<span class=\"{0}\"><span aria-hidden=\"true\">{1} </span>{0}</span>", name, verdict == Verdict::regression ? "\u25b2" : "\u25bc");
}

std::string change_html(const ComparedItem& item) {
  if (!item.change) return "";
  const std::string text = change_text(*item.change);
  return is_flag(item.verdict) ? fmt::format("<span class=\"{}\">{}</span>", verdict_name(item.verdict), text) : text;
}

std::string change_interval(const ComparedItem& item) {
  if (!item.change_low || !item.change_high) return "";
  // Inside brackets the unit is said once.
  const auto bare = [](double share) {
    std::string text = change_text(share);
    return text.substr(0, text.size() - 2);
  };
  return fmt::format("[{}, {}]", bare(*item.change_low), bare(*item.change_high));
}

std::string time_cell(const std::optional<TimeEstimate>& time) { return time ? time_text(time->median_us) : std::string("\u2014"); }
double time_sort(const std::optional<TimeEstimate>& time) { return time ? time->median_us : std::nan(""); }

// In one line: which configuration won, and what else changed.
std::string what_changed(const ComparedItem& item, const Detail& detail) {
  if (!item.base_time || !item.candidate_time) return "";
  if (item.same_session) return "the same session on both sides";
  std::string html;
  if (item.same_configuration) {
    html = "same configuration";
  } else {
    html = "another winner:";
    std::string list;
    for (const ConfigurationDifference& difference : item.configuration_differences) {
      list += fmt::format("{}{} {} \u2192 {}", list.empty() ? " " : ", ", difference.parameter, difference.base.empty() ? "\u2014" : difference.base,
                          difference.candidate.empty() ? "\u2014" : difference.candidate);
    }
    html += long_text(list, 400, detail.text);
  }
  if (item.kernel_changed) html += "; kernel changed";
  return html;
}

// "12.30 mJ \u2192 11.90 mJ, \u22123.3 %".
std::string energies_html(const ComparedItem& item) {
  const auto shown = [](const std::optional<double>& joules) { return joules ? energy_text(joules) : std::string("\u2014"); };
  if (!item.base_energy_j && !item.candidate_energy_j) return "";
  return fmt::format("{} \u2192 {}{}", shown(item.base_energy_j), shown(item.candidate_energy_j),
                     item.energy_change ? ", " + change_text(*item.energy_change) : "");
}

bool any_energy(const Comparison& comparison) {
  return std::any_of(comparison.items.begin(), comparison.items.end(), [](const ComparedItem& item) { return item.base_energy_j || item.candidate_energy_j; });
}

std::string exit_code_text(const Comparison& comparison) {
  std::string text = fmt::format("Exit code {}", comparison.exit_code);
  if (comparison.exit_code == 0) text += comparison.settings.fail_on == FailOn::never ? " (never fails)" : " (passed)";
  else if (comparison.gate_refused) text += " (refused as a gate: the environments differ)";
  else if (comparison.exit_code != 3) text += " (nothing could be compared)";
  else text += fmt::format(" (fails on: {})", fail_on_name(comparison.settings.fail_on));
  return text;
}

std::int64_t count_of(const Comparison& comparison, Verdict verdict) {
  const auto found = comparison.counts.find(verdict);
  return found == comparison.counts.end() ? 0 : found->second;
}

std::string verdict_box(const Comparison& comparison, const std::vector<std::string>& ids, const ItemNaming& naming) {
  const std::string_view tone = count_of(comparison, Verdict::regression) > 0 ? " bad"
      : comparison.gate_refused || comparison.exit_code != 0                  ? " warn"
      : count_of(comparison, Verdict::improvement) > 0                        ? " good"
                                                                              : "";
  std::string html = fmt::format("<div class=\"verdict{}\"><p><b>{}</b> <span class=\"muted\">(gate \u00b1{}{}, 95 % intervals, Holm-adjusted)</span></p><p>{}.", tone, counts_text(comparison),
                                 percent_text(100 * comparison.settings.threshold), comparison.settings.kernel_thresholds.empty() ? "" : " and others by kernel", exit_code_text(comparison));
  if (comparison.worst) {
    const ComparedItem& worst = comparison.items[*comparison.worst];
    html += fmt::format(" {}: <a href=\"#{}\">{}</a> {} {}, {}.", worst.verdict == Verdict::regression ? "Worst" : "Largest change", ids[*comparison.worst],
                        naming.html(worst.key), change_html(worst), change_interval(worst), verdict_html(worst.verdict));
  }
  return html + "</p></div>\n";
}

std::string differences_table(const Comparison& comparison, const Detail& detail) {
  if (comparison.differences.empty()) return "<p>The two environments do not differ in anything that was recorded.</p>\n";
  Table table("What differs between the two environments", {{"what"}, {"base", "text"}, {"candidate", "text"}, {"consequence"}}, {.hide_caption = true});
  for (const auto& [shown, more] : shown_differences(comparison)) {
    const EnvironmentDifference& difference = *shown;
    const Labelled base = plain::shown_entry({difference.label, difference.base}), candidate = plain::shown_entry({difference.label, difference.candidate});
    table.row();
    table.cell(isolated(cut(base.value.empty() ? candidate.label : base.label, 120)));
    table.cell(base.value.empty() ? "\u2014" : long_text(base.value, 200, detail.text));
    table.cell(candidate.value.empty() ? "\u2014" : long_text(candidate.value, 200, detail.text));
    table.cell(!difference.matters ? "for information" : difference.allowed ? "<span class=\"warn\">matters, allowed</span>" : "<span class=\"bad\">no gate</span>");
    if (more == 0) continue;
    table.row();
    table.cell(isolated(cut(difference.label, 120)));
    table.cell(fmt::format("<span class=\"muted\">and {} more</span>", count_text(static_cast<long long>(more))));
    table.cell("");
    table.cell("");
  }
  return std::move(table).finish();
}

std::string flags_table(const Comparison& comparison, const std::vector<std::string>& ids, const ItemNaming& naming, const Detail& detail) {
  std::vector<Column> columns = {{"item", "text"}, {"base", "n"}, {"candidate", "n"}, {"change", "n"}, {"95 % interval", "n"}, {"verdict"}};
  const bool energy = any_energy(comparison);
  if (energy) columns.push_back({"energy", "n"});
  columns.push_back({"what changed", "text"});
  Table table("Regressions and improvements, worst first", columns, {.classes = "sort", .hide_caption = true});
  for (std::size_t i = 0; i < comparison.items.size(); ++i) {
    const ComparedItem& item = comparison.items[i];
    if (!is_flag(item.verdict)) continue;
    table.row();
    table.cell(fmt::format("<a href=\"#{}\">{}</a>{}", ids[i], naming.html(item.key), naming.device() ? "" : "<br><span class=\"muted\">" + isolated(cut(item.key.device, 120)) + "</span>"));
    table.cell(time_cell(item.base_time), time_sort(item.base_time));
    table.cell(time_cell(item.candidate_time), time_sort(item.candidate_time));
    table.cell(change_html(item), or_nan(item.change));
    table.cell(change_interval(item), or_nan(item.change_low));
    table.cell(verdict_html(item.verdict), std::nullopt, "w");
    if (energy) table.cell(energies_html(item), or_nan(item.energy_change));
    table.cell(what_changed(item, detail));
  }
  if (table.rows() == 0) return "<p>None.</p>\n";
  return std::move(table).finish();
}

// One row for each item with the interval drawn: the picture is its own table.
std::string forest_table(const Comparison& comparison, const std::vector<std::string>& ids, const ItemNaming& naming) {
  std::vector<double> ends;
  for (const ComparedItem& item : comparison.items) {
    for (const std::optional<double>& end : {item.change_low, item.change_high}) {
      if (end) ends.push_back(*end);
    }
  }
  const ChangeAxis axis(ends);
  const std::string axis_header = "<span class=\"hide\">change, drawn</span>" + axis.header();
  std::vector<Column> columns = {{"item", "text"}, {axis_header, "plot"}, {"change", "n"}, {"95 % interval", "n"}, {"base", "n"}, {"candidate", "n"}, {"verdict"}};
  const bool energy = any_energy(comparison);
  if (energy) columns.push_back({"energy", "n"});
  Table table("Change of each item, slower to the right", columns,
              {.classes = "sort forest", .find = comparison.items.size() > 6 ? "Filter items" : "", .tall = true, .hide_caption = true});
  for (std::size_t i = 0; i < comparison.items.size(); ++i) {
    const ComparedItem& item = comparison.items[i];
    table.row(item.verdict == Verdict::regression ? "slower" : item.verdict == Verdict::improvement ? "faster" : "");
    table.cell(fmt::format("<a href=\"#{}\">{}</a>", ids[i], naming.html(item.key)), std::nullopt);
    table.cell(item.change && item.change_low && item.change_high ? axis.row(*item.change, *item.change_low, *item.change_high, item.gate) : axis.row(item.gate));
    table.cell(change_html(item), or_nan(item.change));
    table.cell(change_interval(item), or_nan(item.change_low));
    table.cell(time_cell(item.base_time), time_sort(item.base_time));
    table.cell(time_cell(item.candidate_time), time_sort(item.candidate_time));
    table.cell(verdict_html(item.verdict), std::nullopt, "w");
    if (energy) table.cell(energies_html(item), or_nan(item.energy_change));
  }
  return std::move(table).finish();
}

// Above what the newer side says of an item: both sides beside each other.
std::string compared_html(const ComparedItem& item, const Comparison& comparison, const Detail& detail) {
  std::string html = facts({{"verdict", verdict_html(item.verdict) + (item.reason.empty() ? "" : ": " + long_text(item.reason, 400, detail.text))},
                            {"change", item.change ? fmt::format("{} {}, gate \u00b1{}", change_html(item), change_interval(item), percent_text(100 * item.gate)) : ""},
                            {"energy", item.key.objective == "energy" || item.energy_change ? energies_html(item) : ""},
                            {"noise", item.noise > 0 ? fmt::format("{} over {}", percent_text(100 * item.noise), plural(static_cast<long long>(item.noise_nights), "night")) : ""},
                            {"p", item.p && item.holm_p ? fmt::format("{:.3g}, after Holm {:.3g}", *item.p, *item.holm_p) : ""},
                            {"what changed", what_changed(item, detail)},
                            {"timed again", item.remeasured ? "both winners, interleaved" : ""}});
  IntervalNames intervals;
  intervals.add(item.base_time);
  intervals.add(item.candidate_time);
  const std::string interval_heading = intervals.heading();
  Table table(fmt::format("Both sides of {}", item.key.shape()), {{"side"}, {"time", "n"}, {interval_heading, "n"}, {"processes", "n"}, {"date", "w"}, {"session", "text"}, {"winner", "text broad"}}, {.hide_caption = true});
  const auto side = [&](std::string_view name, const Report& report, const std::optional<std::size_t>& place, const std::optional<TimeEstimate>& time, std::size_t processes,
                        const Configuration* other) {
    table.row();
    table.cell(name);
    table.cell(time_cell(time));
    table.cell(time ? interval_html(*time, time_unit(time->median_us), intervals) : "");
    table.cell(time ? fmt::format("{}", processes) : "");
    const Item* found = place ? &report.items[*place] : nullptr;
    const std::string kind = found != nullptr ? kind_html(found->kind()) : "";
    table.cell(found != nullptr ? isolated(cut(found->date, 40)) : "");
    table.cell(found != nullptr ? (kind.empty() ? "search, " + isolated(cut(found->strategy, 60)) : kind) : "");
    table.cell(found != nullptr && found->winner ? configuration_html(found->winner->configuration, other, detail) : "");
  };
  const Item* base = item.base ? &comparison.base.items[*item.base] : nullptr;
  side("base", comparison.base, item.base, item.base_time, item.base_processes, nullptr);
  side("candidate", comparison.candidate, item.candidate, item.candidate_time, item.candidate_processes, base != nullptr && base->winner ? &base->winner->configuration : nullptr);
  return html + std::move(table).finish();
}

std::string side_line(std::string_view name, const Side& side) {
  const std::string environment = environment_line(side.environment);
  return fmt::format("{} {}{}", name, isolated(cut(side.label.empty() ? side.book : side.label, 200)), environment.empty() ? "" : ": " + environment);
}

}  // namespace

std::string comparison_page(const Comparison& comparison, const Detail& detail) {
  std::vector<std::string> ids;
  std::vector<const ItemKey*> keys;
  std::vector<std::string> candidate_ids(comparison.candidate.items.size(), "shapes");
  for (std::size_t i = 0; i < comparison.items.size(); ++i) {
    ids.push_back(fmt::format("item-{}", i + 1));
    keys.push_back(&comparison.items[i].key);
    if (comparison.items[i].candidate) candidate_ids[*comparison.items[i].candidate] = ids.back();
  }
  const ItemNaming naming(keys);
  Page page(comparison.title, side_line("Base", comparison.base.side) + "<br>" + side_line("Candidate", comparison.candidate.side) +
                                   (naming.shared().empty() ? "" : "<br>" + isolated(cut(naming.shared(), 400))));
  page.add(verdict_box(comparison, ids, naming));
  page.add(other_devices_note(comparison.candidate.items));
  page.add(notes_list(comparison.notes, detail));

  page.section("environments", "What differs between the environments");
  page.add(differences_table(comparison, detail));
  page.section("flags", "Regressions and improvements");
  page.add(flags_table(comparison, ids, naming, detail));
  page.section("changes", "Change of each item");
  page.add("<p class=\"muted note\">Candidate's time over base's: to the left faster, to the right slower. Lines: plain 95 % intervals; shaded: changes that do "
           "not exceed the gate.</p>" + forest_table(comparison, ids, naming));
  if (const std::string maps = heat_maps(comparison.candidate.items, candidate_ids); !maps.empty()) {
    page.section("overview", "What the candidate reached");
    page.add(maps);
  }
  if (!comparison.items.empty()) {
    page.section("shapes", comparison.items.size() == 1 ? "The shape" : "Per shape");
    page.add(interval_legend(comparison.candidate.items));
    std::vector<ItemSection> sections;
    for (std::size_t i = 0; i < comparison.items.size(); ++i) {
      const ComparedItem& item = comparison.items[i];
      if (!item.candidate && !item.base) continue;
      const Item& shown = item.candidate ? comparison.candidate.items[*item.candidate] : comparison.base.items[*item.base];
      sections.push_back({ids[i], naming.html(item.key), fmt::format("{} {} <span class=\"muted\">{}</span>", verdict_html(item.verdict), change_html(item), escape(item_summary(shown))),
                          compared_html(item, comparison, detail), &shown});
    }
    page.add(item_sections(sections, detail));
  }
  if (!comparison.candidate.failures.empty()) {
    page.section("failures", "Failures by message");
    page.add(fmt::format("<p>Of the candidate; {}: {}.</p>", plural(comparison.candidate.trial_count, "trial"), outcomes_text(comparison.candidate.outcomes)));
    page.add(failures_table(comparison.candidate.failures, comparison.candidate.failure_groups, detail));
  }
  page.section("cost", "Cost of tuning");
  page.add("<div class=\"cards\">" + card(3, "Base", cost_table(comparison.base.cost)) + card(3, "Candidate", cost_table(comparison.candidate.cost)) + "</div>");
  if (const std::string trends = trend_table(comparison.candidate.items, candidate_ids, naming, detail); !trends.empty()) {
    page.section("trend", "Trend over nights");
    page.add(trends);
  }
  page.section("reproduce", "How to reproduce");
  page.add("<p>This comparison:</p><pre><bdi>" + escape(cut(comparison.command, detail.text)) + "</bdi></pre>");
  page.add("<h3>Base</h3>" + side_facts(comparison.base.side, detail) + "<h3>Candidate</h3>" + side_facts(comparison.candidate.side, detail));
  return std::move(page).finish(fmt::format("Tunebook {}, {}", isolated(comparison.candidate.tunebook_version), isolated(comparison.generated_utc)));
}

}  // namespace tunebook::reports::page
