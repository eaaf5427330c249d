#include "reports/html_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/value.h"
#include "reports/html_table.h"
#include "reports/html_text.h"
#include "reports/wording.h"

namespace tunebook::reports::page {
namespace {

// Bytes of a configuration beyond which it is always shown cut.
constexpr std::size_t kLongConfiguration = 600;

std::string sessions_table(std::span<const SessionInfo> sessions, std::int64_t count, const Detail& detail) {
  if (sessions.size() > detail.sessions) sessions = sessions.first(detail.sessions);
  Table table("Sessions, newest first",
              {{"session", "mono"}, {"kernel"}, {"shape", "text"}, {"device", "text"}, {"started, UTC"}, {"wall time", "n"}, {"trials", "n"}, {"strategy"},
               {"budget"}, {"seed", "n"}, {"method"}, {"kernel hash", "mono"}, {"toolchain", "text"}},
              {.classes = "sort", .find = sessions.size() > 6 ? "Filter sessions" : "", .tall = true, .hide_caption = true});
  for (const SessionInfo& session : sessions) {
    table.row();
    table.cell(isolated(cut(session.id, 40)));
    table.cell(isolated(cut(session.kernel, 100)));
    table.cell(values_html(session.problem, detail));
    table.cell(isolated(cut(session.device, 100)));
    table.cell(isolated(instant_text(session.started_utc)) + (session.finished_utc.empty() ? " <span class=\"warn\">not finished</span>" : ""), std::nullopt, "w");
    table.cell(duration_text(session.wall_seconds), session.wall_seconds);
    table.cell(count_text(session.trials), static_cast<double>(session.trials));
    std::string narrowed;
    for (const std::string& where : session.where) narrowed += fmt::format("{} where {}", narrowed.empty() ? "" : ",", where);
    const std::string kind = kind_html(session_kind(session.strategy));
    table.cell(isolated(cut(session.strategy, 60)) + (kind.empty() ? "" : fmt::format(" <small class=\"muted\">{}</small>", kind)) + (narrowed.empty() ? "" : long_text(narrowed, 100, detail.text)));
    table.cell(isolated(cut(session.budget, 40)));
    table.cell(fmt::format("{}", session.seed), static_cast<double>(session.seed));
    table.cell(isolated(session.method));
    table.cell(isolated(cut(session.kernel_hash, 40)));
    table.cell(long_text(session.toolchain, 120, detail.text));
  }
  std::string html = std::move(table).finish();
  const auto shown = static_cast<std::int64_t>(sessions.size());
  if (count > shown) html += fmt::format("<p class=\"muted note\">The newest {} of {} sessions.</p>\n", count_text(shown), count_text(count));
  return html;
}

// "--finalist-processes" is not broken at its hyphens. A text that was cut stays as it is.
std::string unbroken_options(std::string html) {
  constexpr std::string_view kEnd = "</bdi>";
  if (html.find('<', 1) + kEnd.size() != html.size()) return html;
  for (std::size_t at = html.find(" --"); at != std::string::npos; at = html.find(" --", at)) {
    const std::size_t end = std::min(html.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at + 1), html.size());
    const std::string option = fmt::format(" <span class=\"unbroken\">{}</span>", html.substr(at + 1, end - at - 1));
    html.replace(at, end - at, option);
    at += option.size();
  }
  return html;
}

// The sizes that have the same value in all of these.
Problem shared_sizes(std::span<const ItemKey* const> keys) {
  Problem shared;
  for (const auto& [name, value] : keys.front()->problem.items()) {
    const bool same = std::all_of(keys.begin(), keys.end(), [&name = name, &value = value](const ItemKey* key) {
      const Value* theirs = key->problem.find(name);
      return theirs != nullptr && *theirs == value;
    });
    if (same) shared.set(name, value);
  }
  return shared;
}

}  // namespace

ItemNaming::ItemNaming(std::span<const ItemKey* const> keys) {
  for (const ItemKey* key : keys) {
    kernel_ = kernel_ || key->kernel != keys.front()->kernel;
    device_ = device_ || key->device_key != keys.front()->device_key;
    method_ = method_ || key->method != keys.front()->method;
    objective_ = objective_ || key->objective != keys.front()->objective;
  }
  if (keys.size() < 2) return;
  shared_ = shared_sizes(keys);
  std::map<std::string, std::vector<const ItemKey*>> by_kernel;
  for (const ItemKey* key : keys) by_kernel[key->kernel].push_back(key);
  for (const auto& [kernel, list] : by_kernel) {
    Problem more;
    if (by_kernel.size() > 1 && list.size() > 1) {
      const Problem shared = shared_sizes(list);
      for (const auto& [name, value] : shared.items()) {
        if (shared_.find(name) == nullptr) more.set(name, value);
      }
    }
    // Of items that differ in something else than their shape the name keeps all.
    if (shared_.items().size() + more.items().size() < list.front()->problem.items().size()) {
      if (!more.items().empty()) kernel_shared_[kernel] = std::move(more);
    } else if (more.items().empty()) {
      shared_ = Problem();
    }
  }
}

bool ItemNaming::is_shared(const ItemKey& key, const std::string& name) const {
  if (shared_.find(name) != nullptr) return true;
  const auto found = kernel_shared_.find(key.kernel);
  return found != kernel_shared_.end() && found->second.find(name) != nullptr;
}

std::string ItemNaming::shared() const {
  std::string text = shared_.items().empty() ? "" : "all with " + shared_.display();
  for (const auto& [kernel, sizes] : kernel_shared_) text += fmt::format("{}{} with {}", text.empty() ? "" : "; ", kernel, sizes.display());
  return text;
}

std::string ItemNaming::text(const ItemKey& key) const {
  std::string text;
  const auto& sizes = key.problem.items();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (is_shared(key, sizes[i].first)) continue;
    text += (text.empty() || text.ends_with('=') ? "" : ", ") + sizes[i].first + "=";
    // Neighbours with the same size are named together: "m=n=k=4096".
    const bool joined = i + 1 < sizes.size() && sizes[i + 1].second == sizes[i].second && !is_shared(key, sizes[i + 1].first);
    if (!joined) text += to_text(sizes[i].second);
  }
  if (kernel_) text = key.kernel + " " + text;
  if (device_) text += " on " + key.device;
  if (method_) text += ", " + key.method;
  if (objective_) text += ", " + key.objective;
  return text;
}

std::string ItemNaming::html(const ItemKey& key) const { return isolated(cut(text(key), 140)); }

std::string configuration_html(const Configuration& configuration, const Configuration* other, const Detail& detail) {
  const std::string plain = configuration.display();
  if (plain.size() > kLongConfiguration) return long_text(plain, 160, detail.text);
  std::string html = "<bdi>";
  for (const auto& [name, value] : configuration.items()) {
    const Value* theirs = other == nullptr ? &value : other->find(name);
    const std::string item = escape(name + "=" + to_text(value));
    html += html.size() > 5 ? ", " : "";
    html += theirs != nullptr && *theirs == value ? item : "<b>" + item + "</b>";
  }
  return html + "</bdi>";
}

std::string short_configuration_html(const Configuration& configuration, const Detail& detail) {
  constexpr std::size_t kShort = 42;  // bytes: two lines of a narrow column
  const std::string whole = configuration_html(configuration, nullptr, detail);
  const std::string plain = configuration.display();
  if (plain.size() <= kShort || plain.size() > kLongConfiguration) return whole;
  // Cut between two values.
  std::string shown;
  for (const auto& [name, value] : configuration.items()) {
    const std::string item = (shown.empty() ? "" : ", ") + name + "=" + to_text(value);
    if (shown.size() + item.size() > kShort) break;
    shown += item;
  }
  return fmt::format("<details class=\"long\"><summary title=\"{}\">{}</summary>{}</details>", escape(plain), isolated(shown.empty() ? cut(plain, kShort) : shown + ", ..."),
                     whole);
}

std::string differing_html(const Configuration& configuration, const Configuration* other, const Detail& detail) {
  constexpr std::size_t kFew = 6;  // parameters that are quickly read
  if (other == nullptr || configuration.items().size() <= kFew) return configuration_html(configuration, other, detail);
  Configuration differing;
  for (const auto& [name, value] : configuration.items()) {
    const Value* theirs = other->find(name);
    if (theirs == nullptr || !(*theirs == value)) differing.set(name, value);
  }
  if (differing.items().empty()) return "<span class=\"muted\">as the winner</span>";
  if (2 * differing.items().size() > configuration.items().size()) return configuration_html(configuration, other, detail);
  return "<span class=\"muted\">as the winner, but</span> " + configuration_html(differing, nullptr, detail);
}

std::string values_html(const NamedValues& values, const Detail& detail) { return configuration_html(values, nullptr, detail); }

std::string facts(const std::vector<std::pair<std::string_view, std::string>>& rows) {
  std::string html = "<dl class=\"facts\">";
  for (const auto& [term, value] : rows) {
    if (!value.empty()) html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape(term), value);
  }
  return html + "</dl>\n";
}

std::string instant_text(std::string_view utc) {
  std::string text(utc.substr(0, 16));
  if (text.size() == 16 && text[10] == 'T') text[10] = ' ';
  return text;
}

std::string interval_html(const TimeEstimate& time, const TimeUnit& unit, const IntervalNames& names) {
  if (time.coverage == 0.0) return "one value";
  const std::string coverage = names.in_cell(time);
  return fmt::format("[{}, {}]{}", in_unit(time.low_us, unit), in_unit(time.high_us, unit),
                     coverage.empty() ? "" : fmt::format(" <small class=\"muted\">{}</small>", coverage));
}

std::string interval_legend(std::span<const Item> items) {
  IntervalNames names;
  for (const Item& item : items) {
    names.add(item.time());
    for (const ConfigurationRow& row : item.top) names.add(row.time);
    for (const TrendPoint& point : item.trend) names.add(point.time);
  }
  const std::string legend = names.legend();
  return legend.empty() ? legend : fmt::format("<p class=\"muted note\">{}</p>\n", legend);
}

std::string energy_text(const std::optional<double>& joules) {
  if (!joules || !std::isfinite(*joules)) return "";
  const double size = std::abs(*joules);
  if (size >= 1 || size == 0) return number_text(*joules) + " J";
  return size >= 1e-3 ? number_text(*joules * 1e3) + " mJ" : number_text(*joules * 1e6) + " uJ";
}

std::string baseline_name(const Item& item) {
  if (!item.baseline) return "";
  std::string name = item.baseline->name.empty() ? item.baseline->operation : item.baseline->name;
  const std::size_t space = name.rfind(' ');
  const bool version = space != std::string::npos && space + 1 < name.size() && name.find_first_not_of("0123456789.", space + 1) == std::string::npos;
  if (version) name.resize(space);
  return cut(name, 30);
}

std::string kind_html(SessionKind kind) { return std::string(session_kind_words(kind)); }

std::string trials_html(const Item& item) {
  const std::string_view kind = session_kind_short(item.kind());
  return (item.trial_count > 0 || kind.empty() ? count_text(item.trial_count) : std::string()) + (kind.empty() ? "" : fmt::format(" <small class=\"muted\">{}</small>", kind));
}

std::string optional_number(const std::optional<double>& number) { return number ? number_text(*number) : std::string(); }
std::string optional_percent(const std::optional<double>& percent) { return percent ? percent_text(*percent) : std::string(); }
double or_nan(const std::optional<double>& number) { return number.value_or(std::numeric_limits<double>::quiet_NaN()); }

std::string outcome_text(Outcome outcome) {
  std::string text(outcome_name(outcome));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string outcomes_text(std::span<const std::pair<Outcome, std::int64_t>> outcomes) {
  std::string text;
  for (const auto& [outcome, count] : outcomes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count_text(count), outcome_text(outcome));
  }
  return text;
}

std::string failures_table(std::span<const FailureGroup> failures, std::int64_t groups, const Detail& detail) {
  std::vector<Column> columns = {{"outcome"}, {"trials", "n"}, {"message of the first", "text"}};
  // Those of a whole report name none.
  const bool configurations = std::any_of(failures.begin(), failures.end(), [](const FailureGroup& failure) { return !failure.configuration.empty(); });
  if (configurations) columns.push_back({"its configuration", "text"});
  Table table("Failures, those with the same message together", columns,
              {.classes = "sort", .find = failures.size() > 6 ? "Filter failures" : "", .hide_caption = true});
  for (const FailureGroup& failure : failures) {
    table.row();
    table.cell(fmt::format("{}", outcome_text(failure.outcome)));
    table.cell(count_text(failure.count), static_cast<double>(failure.count));
    table.cell(long_text(failure.message, 160, detail.text));
    if (configurations) table.cell(listed(failure.configuration, 400, detail.text));
  }
  std::string html = std::move(table).finish();
  const auto shown = static_cast<std::int64_t>(failures.size());
  if (groups > shown) html += fmt::format("<p class=\"muted note\">The {} most frequent of {} messages.</p>\n", count_text(shown), count_text(groups));
  return html;
}

std::string cost_table(const Cost& cost) {
  struct Part {
    std::string_view name, meaning;
    double seconds;
  };
  const Part parts[] = {{"compile", "summed over the compile processes, which work at the same time", cost.compile_seconds},
                        {"verify", "", cost.verify_seconds},
                        {"time", "", cost.time_seconds},
                        {"device idle", "between the first and the last trial", cost.idle_seconds},
                        {"wall time", "of the sessions, with start and finalists", cost.wall_seconds}};
  const bool trials = cost.measured + cost.reused > 0;  // none in a published book
  if (!trials) return facts({{"wall time", duration_text(cost.wall_seconds) + " of the sessions"}});
  double most = 0;
  for (const Part& part : parts) most = std::max(most, part.seconds);
  Table table("Cost of tuning", {{"part"}, {"duration", "n"}, {"<span class=\"hide\">share of the longest</span>", "bar"}}, {.hide_caption = true});
  for (const Part& part : parts) {
    table.row();
    table.cell(part.meaning.empty() ? std::string(part.name) : fmt::format("{} <span class=\"muted note\">{}</span>", part.name, part.meaning));
    table.cell(duration_text(part.seconds));
    table.cell(bar_svg(most > 0 ? 100 * part.seconds / most : 0));
  }
  std::string html = std::move(table).finish();
  const double busy = cost.wall_seconds > 0 ? static_cast<double>(cost.measured) / cost.wall_seconds : 0;
  html += fmt::format("<p class=\"muted note\">{} run{}{}.</p>\n", plural(cost.measured, "trial"),
                      cost.reused > 0 ? fmt::format(", {} answered by the book", count_text(cost.reused)) : "",
                      busy > 0 ? fmt::format("; {:.2g} a second of wall time", busy) : "");
  return html;
}

std::string night_changes(const TrendPoint& point) {
  std::string text;
  const auto add = [&](std::string_view what) { text += (text.empty() ? "" : "; ") + std::string(what); };
  if (point.configuration_changed) add("another winner");
  if (point.kernel_changed) add("kernel changed");
  for (const std::string& change : point.environment_changed) add(change);
  return text;
}

std::string night_kind(SessionKind kind) {
  return std::string(kind == SessionKind::search ? session_kind_name(kind) : session_kind_short(kind));
}

std::string nights_key(std::span<const NightMark> marks) {
  std::string html = "<ul class=\"key\">";
  const auto add = [&](bool shown, const NightMark& mark, std::string_view what) {
    if (shown) html += fmt::format("<li><svg viewBox=\"-6 -6 12 12\" aria-hidden=\"true\">{}</svg>{}</li>", night_mark(mark, 0, 0), what);
  };
  const auto any = [&](bool NightMark::*what, bool value) { return std::any_of(marks.begin(), marks.end(), [&](const NightMark& mark) { return mark.*what == value; }); };
  add(any(&NightMark::searched, true), {.searched = true}, "searched");
  add(any(&NightMark::searched, false), {.searched = false}, "no search, the standing winner or the finalists timed again");
  add(any(&NightMark::changed, true), {.changed = true}, "hollow: another winner, kernel or environment than the night before");
  return html + "</ul>";
}

std::vector<NightMark> night_marks(std::span<const TrendPoint> trend) {
  std::vector<NightMark> marks;
  for (const TrendPoint& point : trend) {
    marks.push_back({point.date, point.time.median_us, point.time.low_us, point.time.high_us,
                     point.configuration_changed || point.kernel_changed || !point.environment_changed.empty(), point.kind == SessionKind::search});
  }
  return marks;
}

std::string environment_line(std::span<const Labelled> environment) {
  constexpr int kMost = 6;  // what matters comes first
  std::string html;
  int shown = 0;
  for (const Labelled& entry : environment) {
    if (entry.value.empty() || ++shown > kMost) continue;
    // A GPU's name says what it is; a version number does not.
    const std::string label = entry.label == kGpuLabel || entry.label == kToolkitLabel ? "" : escape(entry.label) + " ";
    html += (html.empty() ? "" : " \u00b7 ") + label + isolated(cut(entry.value, 120));
  }
  return html;
}

std::string notes_list(std::span<const std::string> notes, const Detail& detail) {
  if (notes.empty()) return "";
  std::string html = "<ul>";
  for (const std::string& note : notes) html += "<li>" + unbroken_options(long_text(note, 400, detail.text)) + "</li>";
  return html + "</ul>\n";
}

std::string side_facts(const Side& side, const Detail& detail) {
  std::string filter;
  for (const Labelled& entry : side.filter) filter += fmt::format("{}{} {}", filter.empty() ? "" : ", ", escape(entry.label), isolated(cut(entry.value, 400)));
  std::vector<std::pair<std::string_view, std::string>> rows = {
      {"book", isolated(cut(side.book, 400)) + fmt::format(", version {}{}", side.book_version, side.published ? ", published" : "")}, {"only", filter}};
  std::vector<Labelled> environment;
  for (const Labelled& entry : side.environment) environment.push_back(plain::shown_entry(entry));
  for (const Labelled& entry : environment) {
    if (!entry.value.empty()) rows.emplace_back(entry.label, long_text(entry.value, 200, detail.text));
  }
  return facts(rows) + fmt::format("<details><summary>{}</summary>{}</details>\n", plural(side.session_count, "session"),
                                   sessions_table(side.sessions, side.session_count, detail));
}

}  // namespace tunebook::reports::page
