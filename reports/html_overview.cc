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

template <typename Same>
std::size_t place_of(std::vector<const ItemKey*>& list, const ItemKey& key, const Same& same) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const ItemKey* other) { return same(*other, key); });
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  list.push_back(&key);
  return list.size() - 1;
}

enum class Measure { gflops, gbps, time };

// Bandwidth where that is what binds most of them, arithmetic where it is known, else times.
Measure measure_of(std::span<const Item> items, const HeatMap& map) {
  std::size_t with_work = 0, bandwidth = 0, flops = 0;
  for (const auto& [place, index] : map.cells) {
    const Item& item = items[index];
    if (!item.winner) continue;
    with_work += item.winner->rates.gflops || item.winner->rates.gbps ? 1 : 0;
    flops += item.winner->rates.gflops ? 1 : 0;
    bandwidth += item.ceiling && item.ceiling->bandwidth ? 1 : 0;
  }
  if (with_work == 0) return Measure::time;
  return flops == 0 || 2 * bandwidth > map.cells.size() ? Measure::gbps : Measure::gflops;
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

std::string map_html(std::span<const Item> items, std::span<const std::string> ids, const MapKey& key, const HeatMap& map, const ItemNaming& shapes,
                     bool several) {
  const Measure measure = measure_of(items, map);
  // Times beside each other say something where there are several devices; else they stand in the table of winners.
  if (measure == Measure::time && map.columns.size() < 2) return "";
  bool ceilings = measure != Measure::time;
  std::vector<double> column_best(map.columns.size(), 0);
  bool never = false;
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const auto found = map.cells.find({r, c});
      never = never || found == map.cells.end();
      const std::optional<double> value = found == map.cells.end() ? std::nullopt : value_of(items[found->second], measure);
      if (!value) continue;
      column_best[c] = std::max(column_best[c], *value);
      ceilings = ceilings && items[found->second].winner->rates.percent_of_ceiling;
    }
  }
  const std::string_view unit = measure == Measure::gflops ? "GFLOP/s" : measure == Measure::gbps ? "GB/s" : "time";
  std::string heading = fmt::format("Best {}, shape \u00d7 device", unit);
  if (several) heading = fmt::format("{}: {}, {}{}", cut(std::get<0>(key), 80), heading, std::get<1>(key), std::get<2>(key).empty() ? "" : ", " + std::get<2>(key));

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
      const std::optional<double> percent = item.winner->rates.percent_of_ceiling;
      const double share = measure == Measure::time ? 0 : ceilings ? *percent / 100 : column_best[c] > 0 ? *value / column_best[c] : 0;
      table.cell(fmt::format("<a href=\"#{}\">{}</a>{}", ids[found->second], measure == Measure::time ? time_text(*value) : number_text(*value),
                             percent ? fmt::format(" <small>{}</small>", percent_text(*percent)) : ""),
                 *value, measure == Measure::time ? "" : shade(share));
    }
  }
  std::string caption = "<p class=\"note muted\">";
  if (measure != Measure::time) caption += ceilings ? "Shade and percentage: of the measured ceiling." : "Shade: share of the best of this device.";
  if (never) caption += " \u2014: never tuned.";
  return card(3, heading, caption + "</p>" + std::move(table).finish());
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
  std::string html;
  for (const auto& [key, map] : maps) {
    if (map.cells.size() > 1) html += map_html(items, ids, key, map, ItemNaming(map.rows), maps.size() > 1);
  }
  return html;
}

std::string items_table(std::span<const Item> items, std::span<const std::string> ids, const ItemNaming& naming, const Detail& detail) {
  bool gflops = false, gbps = false, ceiling = false, baseline = false, energy = false;
  IntervalNames intervals;
  for (const Item& item : items) {
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
  for (const Column& column : {Column{"trials", "n"}, Column{"failed", "n"}, Column{"date"}, Column{"winner", "text winner"}}) columns.push_back(column);
  Table table("What each shape reached", columns, {.classes = "sort", .find = items.size() > 6 ? "Filter items" : "", .tall = true, .hide_caption = true});
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    const TimeEstimate* time = item.time();
    const Rates rates = item.winner ? item.winner->rates : Rates();
    std::int64_t failed = 0;
    for (const auto& [outcome, count] : item.outcomes) failed += has_time(outcome) ? 0 : count;
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
    if (gflops) table.cell(optional_number(rates.gflops), or_nan(rates.gflops));
    if (gbps) table.cell(optional_number(rates.gbps), or_nan(rates.gbps));
    if (ceiling) table.cell(optional_percent(rates.percent_of_ceiling), or_nan(rates.percent_of_ceiling));
    if (baseline) table.cell(optional_percent(rates.percent_of_baseline), or_nan(rates.percent_of_baseline));
    if (energy) table.cell(energy_text(item.winner ? item.winner->energy_j : std::nullopt), or_nan(item.winner ? item.winner->energy_j : std::nullopt));
    table.cell(trials_html(item), static_cast<double>(item.trial_count));
    table.cell(count_text(failed), static_cast<double>(failed));
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
  Table table("Winners over nights", {{"item", "text"}, {"nights, each on its own scale", "plot spark"}, {"nights", "n"}, {"first", "n"}, {"last", "n"}, {"change", "n"}},
              {.classes = "sort", .find = items.size() > 6 ? "Filter trends" : "", .tall = true, .hide_caption = true});
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::vector<TrendPoint>& trend = items[i].trend;
    if (trend.size() < 2 || table.rows() >= detail.items) continue;
    const double first = trend.front().time.median_us, last = trend.back().time.median_us;
    table.row();
    table.cell(fmt::format("<a href=\"#{}\">{}</a>", ids[i], naming.html(items[i].key)));
    table.cell(nights_strip(night_marks(trend)));
    table.cell(fmt::format("{}", trend.size()));
    table.cell(time_text(first), first);
    table.cell(time_text(last), last);
    table.cell(first > 0 ? change_text(last / first - 1) : "", first > 0 ? last / first - 1 : std::nan(""));
  }
  return table.rows() == 0 ? std::string() : std::move(table).finish();
}

}  // namespace tunebook::reports::page
