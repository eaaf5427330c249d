#include "reports/html_overview.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "reports/html_page.h"
#include "reports/html_table.h"
#include "reports/html_text.h"

namespace tunebook::reports::page {
namespace {

// Items that may stand in one map: only the shape and the device differ.
using MapKey = std::tuple<std::string, std::string, std::string>;  // kernel, method, objective

struct HeatMap {
  std::vector<const ItemKey*> rows;     // one for each problem, in order of appearance
  std::vector<const ItemKey*> columns;  // one for each device
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> cells;  // row, column -> item
};

// A rate that there is none of: never 0.
std::string or_dash(const std::string& number) { return number.empty() ? "\u2014" : number; }

std::int64_t failed_trials(const Item& item) {
  std::int64_t failed = 0;
  for (const auto& [outcome, count] : item.outcomes) failed += has_time(outcome) ? 0 : count;
  return failed;
}

template <typename Same>
std::size_t place_of(std::vector<const ItemKey*>& list, const ItemKey& key, const Same& same) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const ItemKey* other) { return same(*other, key); });
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  list.push_back(&key);
  return list.size() - 1;
}

enum class Measure { gflops, gbps, time };

// What counts for most of them, of what is known; else times.
Measure measure_of(std::span<const Item> items, const HeatMap& map) {
  std::size_t winners = 0, arithmetic = 0, flops = 0, bytes = 0;
  for (const auto& [place, index] : map.cells) {
    const Item& item = items[index];
    if (!item.winner) continue;
    ++winners;
    flops += item.winner->rates.gflops ? 1 : 0;
    bytes += item.winner->rates.gbps ? 1 : 0;
    arithmetic += counts_arithmetic(item) ? 1 : 0;
  }
  if (flops == 0 && bytes == 0) return Measure::time;
  return bytes == 0 || (flops > 0 && 2 * arithmetic >= winners) ? Measure::gflops : Measure::gbps;
}

std::optional<double> value_of(const Item& item, Measure measure) {
  if (item.time() == nullptr) return std::nullopt;
  switch (measure) {
    case Measure::gflops: return item.winner->rates.gflops;
    case Measure::gbps: return item.winner->rates.gbps;
    case Measure::time: return item.time()->median_us;
  }
  return std::nullopt;
}

// One of page.css's ten shades for a share from 0 to 1.
std::string shade(double share) {
  return fmt::format("h{}", std::clamp(static_cast<int>(std::floor(share * 10)), 0, 9));
}

// What tells the maps of a page apart.
struct MapNaming {
  bool kernel = false, method = false, objective = false;
  std::string text(const MapKey& key) const {
    std::string text = kernel ? cut(std::get<0>(key), 80) : "";
    if (method) text += (text.empty() ? "" : ", ") + std::get<1>(key);
    if (objective && !std::get<2>(key).empty()) text += (text.empty() ? "" : ", ") + std::get<2>(key);
    return text;
  }
};

// A map as a box, and what its shades and percentages mean.
struct MapHtml {
  std::string caption, heading, table;
  bool wide = false;
};

std::optional<MapHtml> map_html(std::span<const Item> items, std::span<const std::string> ids, const MapKey& key, const HeatMap& map, const ItemNaming& shapes,
                                const MapNaming& naming) {
  const Measure measure = measure_of(items, map);
  // Times beside each other say something where there are several devices; else they stand in the table of winners.
  if (measure == Measure::time && map.columns.size() < 2) return std::nullopt;
  bool ceilings = measure != Measure::time, baselines = measure != Measure::time;
  std::string baseline;  // "cuBLAS" if that is everyone's
  std::vector<double> column_best(map.columns.size(), 0);
  bool never = false;
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const auto found = map.cells.find({r, c});
      never = never || found == map.cells.end();
      const std::optional<double> value = found == map.cells.end() ? std::nullopt : value_of(items[found->second], measure);
      if (!value) continue;
      column_best[c] = std::max(column_best[c], *value);
      const Item& item = items[found->second];
      ceilings = ceilings && item.winner->rates.percent_of_ceiling;
      baselines = baselines && item.winner->rates.percent_of_baseline && (baseline.empty() || baseline == baseline_name(item));
      if (baselines) baseline = baseline_name(item);
    }
  }
  const std::string_view unit = measure == Measure::gflops ? "GFLOP/s" : measure == Measure::gbps ? "GB/s" : "time";
  const std::string title = naming.text(key);
  const std::string heading = fmt::format("{}{} {}{}", title.empty() ? "" : title + ": ", title.empty() ? "Best" : "best", unit, map.columns.size() > 1 ? ", shape \u00d7 device" : "");

  std::vector<std::string> names;
  for (const ItemKey* column : map.columns) names.push_back(isolated(cut(column->device, 80)));
  std::vector<Column> columns = {{"shape", "text"}};
  for (const std::string& name : names) columns.push_back({name, "n text"});
  Table table(heading, columns, {.classes = "heat sort", .tall = true, .hide_caption = true});
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    table.row();
    table.cell(shapes.html(*map.rows[r]));
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const auto found = map.cells.find({r, c});
      if (found == map.cells.end()) {
        table.cell("<span aria-hidden=\"true\">\u2014</span><span class=\"hide\">never tuned</span>", std::nan(""), "never");
        continue;
      }
      const Item& item = items[found->second];
      const std::optional<double> value = value_of(item, measure);
      if (!value) {
        table.cell(fmt::format("<a href=\"#{}\">{}</a>", ids[found->second], item.time() != nullptr ? time_text(item.time()->median_us) : item.finished ? "no winner" : "not finished"),
                   std::nan(""));
        continue;
      }
      const std::optional<double> ceiling = item.winner->rates.percent_of_ceiling;
      const std::string percent = baselines && !ceiling ? optional_percent(item.winner->rates.percent_of_baseline) : optional_percent(ceiling);
      const double share = measure == Measure::time ? 0 : ceilings ? ceiling.value_or(0) / 100 : column_best[c] > 0 ? *value / column_best[c] : 0;
      table.cell(fmt::format("<a href=\"#{}\">{}</a>{}", ids[found->second], measure == Measure::time ? time_text(*value) : number_text(*value),
                             percent.empty() ? "" : fmt::format(" <small>{}</small>", percent)),
                 *value, measure == Measure::time ? "" : shade(share));
    }
  }
  std::string caption;
  if (measure != Measure::time) {
    caption = ceilings  ? "Shade and percentage: of the measured ceiling."
              : baselines ? fmt::format("Shade: share of the best of the device; percentage: of the speed of {}.", isolated(baseline))
                          : "Shade: share of the best of the device.";
  }
  if (never) caption += " \u2014: never tuned.";
  return MapHtml{std::move(caption), heading, std::move(table).finish(), map.columns.size() > 2};
}

}  // namespace

std::string heat_maps(std::span<const Item> items, std::span<const std::string> ids) {
  if (items.size() < 2) return "";
  std::map<MapKey, HeatMap> maps;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const ItemKey& key = items[i].key;
    HeatMap& map = maps[{key.kernel, key.method, key.objective}];
    const std::size_t row = place_of(map.rows, key, [](const ItemKey& x, const ItemKey& y) { return x.problem == y.problem; });
    const std::size_t column = place_of(map.columns, key, [](const ItemKey& x, const ItemKey& y) { return x.device_key == y.device_key; });
    map.cells[{row, column}] = i;
  }
  MapNaming naming;
  for (const auto& [key, map] : maps) {
    const MapKey& first = maps.begin()->first;
    naming.kernel = naming.kernel || std::get<0>(key) != std::get<0>(first);
    naming.method = naming.method || std::get<1>(key) != std::get<1>(first);
    naming.objective = naming.objective || std::get<2>(key) != std::get<2>(first);
  }
  std::vector<MapHtml> shown;
  for (const auto& [key, map] : maps) {
    if (map.cells.size() < 2) continue;
    if (auto made = map_html(items, ids, key, map, ItemNaming(map.rows), naming)) shown.push_back(std::move(*made));
  }
  if (shown.empty()) return "";
  // What holds for all is said once.
  const bool same = shown.size() > 1 && std::all_of(shown.begin(), shown.end(), [&](const MapHtml& map) { return map.caption == shown.front().caption; });
  const auto note = [](const std::string& caption) { return caption.empty() ? "" : fmt::format("<p class=\"note muted\">{}</p>", caption); };
  std::string html = same ? note(shown.front().caption) : "";
  html += "<div class=\"cards maps\">";
  for (const MapHtml& map : shown) html += card(3, map.heading, (same ? "" : note(map.caption)) + map.table, map.wide);
  return html + "</div>\n";
}

std::string items_table(std::span<const Item> items, std::span<const std::string> ids, const ItemNaming& naming, const Detail& detail) {
  bool gflops = false, gbps = false, ceiling = false, baseline = false, energy = false, failures = false;
  IntervalNames intervals;
  for (const Item& item : items) {
    failures = failures || failed_trials(item) > 0;
    if (!item.winner) continue;
    intervals.add(item.time());
    energy = energy || item.winner->energy_j;
    gflops = gflops || item.winner->rates.gflops;
    gbps = gbps || item.winner->rates.gbps;
    ceiling = ceiling || item.winner->rates.percent_of_ceiling;
    baseline = baseline || item.winner->rates.percent_of_baseline;
  }
  const std::string interval_heading = intervals.heading();
  std::vector<Column> columns = {{"item", "text"}, {"time", "n"}, {interval_heading, "n"}};
  if (gflops) columns.push_back({"GFLOP/s", "n"});
  if (gbps) columns.push_back({"GB/s", "n"});
  if (ceiling) columns.push_back({"of ceiling", "n"});
  if (baseline) columns.push_back({"of baseline", "n"});
  if (energy) columns.push_back({"energy", "n"});
  columns.push_back({"trials", "n"});
  if (failures) columns.push_back({"failed", "n"});
  columns.push_back({"date"});
  columns.push_back({"winner", "text winner"});
  Table table("What each shape reached", columns, {.classes = "sort winners", .find = items.size() > 6 ? "Filter items" : "", .tall = true, .hide_caption = true});
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    const TimeEstimate* time = item.time();
    const Rates rates = item.winner ? item.winner->rates : Rates();
    table.row();
    table.cell(fmt::format("<a href=\"#{}\">{}</a>", ids[i], naming.html(item.key)));
    if (time != nullptr) {
      const TimeUnit unit = time_unit(time->median_us);
      table.cell(time_text(time->median_us), time->median_us);
      table.cell(interval_html(*time, unit, intervals), time->low_us);
    } else {
      table.cell(item.finished ? "<span class=\"bad\">no winner</span>" : "<span class=\"warn\">not finished</span>", std::nan(""));
      table.cell("", std::nan(""));
    }
    if (gflops) table.cell(or_dash(optional_number(rates.gflops)), or_nan(rates.gflops));
    if (gbps) table.cell(or_dash(optional_number(rates.gbps)), or_nan(rates.gbps));
    if (ceiling) table.cell(or_dash(optional_percent(rates.percent_of_ceiling)), or_nan(rates.percent_of_ceiling));
    if (baseline) {
      const std::string name = rates.percent_of_baseline && item.baseline ? fmt::format(" <small class=\"muted\">{}</small>", isolated(cut(baseline_name(item), 11))) : "";
      table.cell(or_dash(optional_percent(rates.percent_of_baseline)) + name, or_nan(rates.percent_of_baseline));
    }
    if (energy) table.cell(energy_text(item.winner ? item.winner->energy_j : std::nullopt), or_nan(item.winner ? item.winner->energy_j : std::nullopt));
    table.cell(trials_html(item), static_cast<double>(item.trial_count));
    if (failures) table.cell(count_text(failed_trials(item)), static_cast<double>(failed_trials(item)));
    table.cell(isolated(cut(item.date, 40)), std::nullopt, "w");
    table.cell(item.winner ? short_configuration_html(item.winner->configuration, detail) : "");
  }
  std::string html = std::move(table).finish();
  for (const SessionKind kind : {SessionKind::retime, SessionKind::finalists}) {
    if (std::none_of(items.begin(), items.end(), [&](const Item& item) { return item.kind() == kind; })) continue;
    html += fmt::format("<p class=\"muted note\">{}: the session {}.</p>\n", session_kind_short(kind), session_kind_words(kind));
  }
  return html;
}

std::string trend_table(std::span<const Item> items, std::span<const std::string> ids, const ItemNaming& naming, const Detail& detail) {
  Table table("Winners over nights", {{"item", "text"}, {"nights, each on its own scale", "plot spark"}, {"nights", "n"}, {"searched", "n"}, {"first", "n"}, {"last", "n"}, {"change", "n"}},
              {.classes = "sort", .find = items.size() > 6 ? "Filter trends" : "", .tall = true, .hide_caption = true});
  std::vector<NightMark> all;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::vector<TrendPoint>& trend = items[i].trend;
    if (trend.size() < 2 || table.rows() >= detail.items) continue;
    const double first = trend.front().time.median_us, last = trend.back().time.median_us;
    table.row();
    table.cell(fmt::format("<a href=\"#{}\">{}</a>", ids[i], naming.html(items[i].key)));
    const std::vector<NightMark> marks = night_marks(trend);
    table.cell(nights_strip(marks));
    table.cell(fmt::format("{}", trend.size()), static_cast<double>(trend.size()));
    const auto searched = std::count_if(trend.begin(), trend.end(), [](const TrendPoint& point) { return point.kind == SessionKind::search; });
    table.cell(fmt::format("{}", searched), static_cast<double>(searched));
    all.insert(all.end(), marks.begin(), marks.end());
    table.cell(time_text(first), first);
    table.cell(time_text(last), last);
    table.cell(first > 0 ? change_text(last / first - 1) : "", first > 0 ? last / first - 1 : std::nan(""));
  }
  return table.rows() == 0 ? std::string() : std::move(table).finish() + nights_key(all);
}

}  // namespace tunebook::reports::page
