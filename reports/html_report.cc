#include "reports/html_report.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "reports/html_item.h"
#include "reports/html_overview.h"
#include "reports/html_page.h"
#include "reports/html_text.h"

namespace tunebook::reports::page {
namespace {

// The item that is furthest from what its device can do; null where no ceiling is known.
const Item* furthest_from_ceiling(const Report& report) {
  const Item* furthest = nullptr;
  for (const Item& item : report.items) {
    if (!item.winner || !item.winner->rates.percent_of_ceiling) continue;
    if (furthest == nullptr || *item.winner->rates.percent_of_ceiling < *furthest->winner->rates.percent_of_ceiling) furthest = &item;
  }
  return furthest;
}

// How many winners reach what people use now, and the one furthest behind it.
std::string baselines_text(const Report& report, const std::vector<std::string>& ids, const ItemNaming& naming) {
  std::int64_t with = 0, reached = 0;
  const Item* furthest = nullptr;
  for (const Item& item : report.items) {
    if (!item.winner || !item.winner->rates.percent_of_baseline) continue;
    const double percent = *item.winner->rates.percent_of_baseline;
    ++with;
    reached += percent >= 99.5 ? 1 : 0;  // as it is shown, rounded
    if (furthest == nullptr || percent < *furthest->winner->rates.percent_of_baseline) furthest = &item;
  }
  if (with < 2) return "";
  std::string html = fmt::format("{} of {} reach the speed of their baseline", reached, with);
  if (reached < with) {
    html += fmt::format("; furthest behind: <a href=\"#{}\">{}</a>, {} of {}", ids[static_cast<std::size_t>(furthest - report.items.data())], naming.html(furthest->key),
                        percent_text(*furthest->winner->rates.percent_of_baseline), isolated(baseline_name(*furthest)));
  }
  return "<p>" + html + ".</p>";
}

// What the last session of each item was, where not all were searches.
std::string sessions_text(const Report& report) {
  std::string text;
  for (const SessionKind kind : {SessionKind::search, SessionKind::retime, SessionKind::finalists}) {
    const auto count = std::count_if(report.items.begin(), report.items.end(), [&](const Item& item) { return item.kind() == kind; });
    if (count == 0 || (kind == SessionKind::search && count == static_cast<std::ptrdiff_t>(report.items.size()))) continue;
    const std::string_view what = kind == SessionKind::search ? "searched" : kind == SessionKind::retime ? "re-timed" : "cut, their finalists timed";
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  }
  return text.empty() ? text : fmt::format(" The last session of each: {}.", text);
}

std::string verdict_box(const Report& report, const std::vector<std::string>& ids, const ItemNaming& naming, const Detail& detail) {
  std::int64_t without = 0;
  for (const Item& item : report.items) without += item.time() == nullptr ? 1 : 0;
  std::string html = fmt::format("<div class=\"verdict{}\"><p><b>{}</b></p><p>Exit code 0 (done).", without > 0 || report.items.empty() ? " warn" : "",
                                 long_text(report.summary, 600, detail.text));
  if (without > 0) html += fmt::format(" <span class=\"warn\">No winner for {}.</span>", plural(without, "item"));
  if (const Item* furthest = furthest_from_ceiling(report); furthest != nullptr && report.items.size() > 1) {
    html += fmt::format(" Furthest from its ceiling: <a href=\"#{}\">{}</a>, {}.", ids[static_cast<std::size_t>(furthest - report.items.data())],
                        naming.html(furthest->key), percent_text(*furthest->winner->rates.percent_of_ceiling));
  }
  if (report.items.size() > 1) html += sessions_text(report);
  return html + "</p>" + baselines_text(report, ids, naming) + "</div>\n";
}

std::string subtitle(const Report& report, const ItemNaming& naming) {
  std::string html = environment_line(report.side.environment);
  html += fmt::format("{}{}", html.empty() ? "" : " \u00b7 ", isolated(cut(report.side.label.empty() ? report.side.book : report.side.label, 200)));
  if (!report.side.first_utc.empty()) html += fmt::format(" \u00b7 {} to {} UTC", isolated(instant_text(report.side.first_utc)), isolated(instant_text(report.side.last_utc)));
  if (!naming.shared().empty()) html += " \u00b7 " + isolated(cut(naming.shared(), 400));
  return html;
}

}  // namespace

std::string report_page(const Report& report, const Detail& detail) {
  std::vector<std::string> ids;
  std::vector<const ItemKey*> keys;
  for (std::size_t i = 0; i < report.items.size(); ++i) {
    ids.push_back(fmt::format("item-{}", i + 1));
    keys.push_back(&report.items[i].key);
  }
  const ItemNaming naming(keys);
  Page page(report.title, subtitle(report, naming));
  page.add(verdict_box(report, ids, naming, detail));
  page.add(other_devices_note(report.items));
  page.add(notes_list(report.notes, detail));

  if (report.items.size() > 1) {
    page.section("overview", "Overview");
    page.add(heat_maps(report.items, ids));
    page.add("<h3>Winners</h3>" + items_table(report.items, ids, naming, detail));
    page.add(interval_legend(report.items));
  }
  if (!report.items.empty()) {
    page.section("shapes", report.items.size() == 1 ? "The shape" : "Per shape");
    if (report.items.size() == 1) page.add(interval_legend(report.items));
    std::vector<ItemSection> sections;
    for (std::size_t i = 0; i < report.items.size(); ++i) {
      sections.push_back({ids[i], naming.html(report.items[i].key), "<span class=\"muted\">" + escape(item_summary(report.items[i])) + "</span>", "", &report.items[i]});
    }
    page.add(item_sections(sections, detail));
  }
  if (report.items.size() > 1 && !report.failures.empty()) {
    page.section("failures", "Failures by message");
    page.add(fmt::format("<p>{}: {}.</p>", plural(report.trial_count, "trial"), outcomes_text(report.outcomes)));
    page.add(failures_table(report.failures, report.failure_groups, detail));
  }
  if (report.items.size() > 1) {
    page.section("cost", "Cost of tuning");
    page.add(cost_table(report.cost));
    if (const std::string trends = trend_table(report.items, ids, naming, detail); !trends.empty()) {
      page.section("trend", "Trend over nights");
      page.add(trends);
    }
  }
  page.section("reproduce", "How to reproduce");
  page.add("<p>This report:</p><pre><bdi>" + escape(cut(report.command, detail.text)) + "</bdi></pre>");
  page.add(side_facts(report.side, detail));
  return std::move(page).finish(fmt::format("Tunebook {}, {}", isolated(report.tunebook_version), isolated(report.generated_utc)));
}

}  // namespace tunebook::reports::page
