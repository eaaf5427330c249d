#include "cli/report_data.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/report_item.h"
#include "cli/report_trials.h"
#include "core/utf8.h"

namespace tunebook::cli {
namespace {

// Values of one label that differ between sessions.
constexpr std::size_t kShownValues = 6;

std::string utc_text(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3 && text[at - 4] != '-';) text.insert(at -= 3, ",");
  return text;
}

std::string counted(std::int64_t number, const char* one, const char* many) { return fmt::format("{} {}", grouped(number), number == 1 ? one : many); }

// The later of two sessions of one key: the one that ended last; of those that did not end, the one that began last.
bool counts_before(const HistorySession& x, const HistorySession& y) {
  const auto rank = [](const HistorySession& session) { return std::tuple(!session.finished_utc.empty(), session_time(session)); };
  return rank(x) != rank(y) ? rank(x) < rank(y) : x.id > y.id;
}

// Kernel name, device, method, objective, problem: rows where one row is one thing.
using Key = std::tuple<std::string, std::int64_t, std::string, std::string, std::int64_t>;

// Sizes by number, before words.
bool problem_before(const Problem& x, const Problem& y) {
  const auto& a = x.items();
  const auto& b = y.items();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].second != b[i].second) return a[i].second < b[i].second;
  }
  return a.size() < b.size();
}

bool item_before(const reports::Item& x, const reports::Item& y) {
  const auto names = [](const reports::Item& item) { return std::tie(item.key.kernel, item.key.device, item.key.device_key, item.key.method, item.key.objective); };
  if (names(x) != names(y)) return names(x) < names(y);
  return problem_before(x.key.problem, y.key.problem);
}

class ReportReader {
 public:
  ReportReader(History& history, const SideRequest& side, const ReportContext& context)
      : history_(history), side_(side), context_(context), limits_(context.limits), selection_(history, side, context.now),
        items_(history, selection_, side, limits_) {}

  reports::Report read() {
    group_sessions();
    scan();
    make_items();
    add_totals();
    add_side();
    add_words();
    return std::move(report_);
  }

 private:
  struct Group {
    const HistorySession* shown = nullptr;
    const HistorySession* search = nullptr;        // the one before `shown`, if that is none itself
    const HistorySession* unfinished = nullptr;    // began after `shown` had ended
    std::int64_t sessions = 0;                     // selected
    std::vector<const HistorySession*> finished;   // of the whole book, with winners, in the order in which they ended
  };

  Key key_of(const HistorySession& session) {
    return {selection_.kernel_name(session), session.device, session.method, items_.objective(session), session.problem};
  }

  void group_sessions() {
    for (const HistorySession& session : selection_.selected()) {
      Group& group = groups_[key_of(session)];
      ++group.sessions;
      if (group.shown == nullptr || counts_before(*group.shown, session)) group.shown = &session;
    }
    if (groups_.size() > limits_.items) keep_newest_groups();
    find_unfinished();
    find_searches();
    for (const HistorySession& session : selection_.all()) {
      if (session.finished_utc.empty() || session.winner == 0) continue;
      const auto found = groups_.find(key_of(session));
      if (found == groups_.end() || session_time(session) > session_time(*found->second.shown)) continue;
      found->second.finished.push_back(&session);
    }
    for (auto& [key, group] : groups_) {
      std::stable_sort(group.finished.begin(), group.finished.end(),
                       [](const HistorySession* x, const HistorySession* y) { return counts_before(*x, *y); });
    }
  }

  void find_unfinished() {
    for (const HistorySession& session : selection_.selected()) {
      if (!session.finished_utc.empty()) continue;
      const auto found = groups_.find(key_of(session));
      if (found == groups_.end() || found->second.shown->finished_utc.empty() || session.started_utc < found->second.shown->finished_utc) continue;
      found->second.unfinished = &session;
    }
  }

  void find_searches() {
    const auto searches = [](const HistorySession& session) { return reports::session_kind(session.strategy) == reports::SessionKind::search; };
    for (auto& [key, group] : groups_) {
      if (const HistorySession& search = items_.searched(*group.shown); searches(search)) group.search = &search;
    }
    for (const HistorySession& session : selection_.all()) {
      if (!searches(session)) continue;
      const auto found = groups_.find(key_of(session));
      if (found == groups_.end()) continue;
      Group& group = found->second;
      if (reports::session_kind(group.shown->strategy) != reports::SessionKind::retime) continue;
      if (session.kernel != group.shown->kernel || session_time(session) > session_time(*group.shown)) continue;
      if (group.search == nullptr || counts_before(*group.search, session)) group.search = &session;
    }
    for (auto& [key, group] : groups_) {
      if (group.search == group.shown) group.search = nullptr;
    }
  }

  void keep_newest_groups() {
    std::vector<std::pair<std::string, Key>> by_time;
    for (const auto& [key, group] : groups_) by_time.emplace_back(session_time(*group.shown), key);
    std::sort(by_time.rbegin(), by_time.rend());
    report_.notes.push_back(fmt::format("{} of {} shapes are shown, those tuned last; --kernel, --device or --since narrow the report",
                                        grouped(static_cast<std::int64_t>(limits_.items)), grouped(static_cast<std::int64_t>(groups_.size()))));
    for (std::size_t i = limits_.items; i < by_time.size(); ++i) groups_.erase(by_time[i].second);
  }

  void scan() {
    std::vector<std::int64_t> rows;
    for (const HistorySession& session : selection_.selected()) rows.push_back(session.row);
    for (const auto& [key, group] : groups_) {
      if (group.search != nullptr) rows.push_back(group.search->row);
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    scan_.emplace(scan_trials(history_, rows, limits_));
  }

  void make_items() {
    struct Made {
      reports::Item item;
      const Group* group;
    };
    std::vector<Made> made;
    for (const auto& [key, group] : groups_) {
      reports::Item item = items_.item(*group.shown, scan_->sessions.at(group.shown->row), *scan_, group.finished);
      item.session_count = group.sessions;
      item.newer_unfinished = group.unfinished != nullptr;
      if (group.search != nullptr) {
        reports::Item search = items_.item(*group.search, scan_->sessions.at(group.search->row), *scan_, {});
        search.cost = {};
        item.search.push_back(std::move(search));
      }
      made.push_back({std::move(item), &group});
    }
    std::sort(made.begin(), made.end(), [](const Made& x, const Made& y) { return item_before(x.item, y.item); });
    std::vector<const Group*> groups;
    for (Made& one : made) {
      report_.items.push_back(std::move(one.item));
      groups.push_back(one.group);
    }
    add_details(groups);
  }

  // Details of those with most trials.
  void add_details(const std::vector<const Group*>& groups) {
    const auto trials = [&](std::size_t i) {
      const reports::Item& item = report_.items[i];
      return item.search.empty() ? item.trial_count : item.search.front().trial_count;
    };
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < report_.items.size(); ++i) {
      if (trials(i) > 0) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return trials(x) > trials(y); });
    if (order.size() > limits_.detailed_items) {
      report_.notes.push_back(fmt::format("trials are shown of the {} shapes with most of them", limits_.detailed_items));
      order.resize(limits_.detailed_items);
    }
    std::sort(order.begin(), order.end());
    std::vector<DetailedItem> detailed;
    const auto add = [&](reports::Item& item, const HistorySession& session) {
      detailed.push_back({&item, &scan_->sessions.at(session.row), items_.spec_json(session), items_.parameter_order(session)});
    };
    for (const std::size_t i : order) {
      reports::Item& item = report_.items[i];
      add(item, *groups[i]->shown);
      if (!item.search.empty()) add(item.search.front(), *groups[i]->search);
    }
    add_trial_details(history_, *scan_, detailed, limits_);
  }

  void add_totals() {
    std::vector<const ScannedSession*> all;
    for (const HistorySession& session : selection_.selected()) {
      const ScannedSession& scanned = scan_->sessions.at(session.row);
      all.push_back(&scanned);
      report_.trial_count += static_cast<std::int64_t>(scanned.trials.size());
      reports::Cost& cost = report_.cost;
      cost.compile_seconds += scanned.cost.compile_seconds;
      cost.verify_seconds += scanned.cost.verify_seconds;
      cost.time_seconds += scanned.cost.time_seconds;
      cost.wall_seconds += session.wall_seconds;
      cost.measured += scanned.cost.measured;
      cost.reused += scanned.cost.reused;
      const double busy = scanned.cost.verify_seconds + scanned.cost.time_seconds;
      cost.idle_seconds += std::clamp(scanned.cost.idle_seconds, 0.0, std::max(0.0, session.wall_seconds - busy));
    }
    report_.outcomes = count_outcomes(all);
    report_.failures = count_failures(*scan_, all, false);
    report_.failure_groups = static_cast<std::int64_t>(report_.failures.size());
    reports::keep_most_frequent(report_.failures, limits_.failures);
  }

  void add_side() {
    reports::Side& side = report_.side;
    side.label = side_.label;
    side.book = valid_utf8(side_.book.string());
    side.book_version = history_.version();
    side.published = history_.published();
    side.filter = side_.shown_filter;
    std::vector<const HistorySession*> sessions;
    for (const HistorySession& session : selection_.selected()) {
      sessions.push_back(&session);
      if (side.first_utc.empty() || session.started_utc < side.first_utc) side.first_utc = session.started_utc;
      side.last_utc = std::max(side.last_utc, session_time(session));
    }
    side.session_count = static_cast<std::int64_t>(sessions.size());
    std::stable_sort(sessions.begin(), sessions.end(), [](const HistorySession* x, const HistorySession* y) { return session_time(*x) > session_time(*y); });
    if (sessions.size() > limits_.sessions) sessions.resize(limits_.sessions);
    for (const HistorySession* session : sessions) {
      side.sessions.push_back(items_.session_info(*session, static_cast<std::int64_t>(scan_->sessions.at(session->row).trials.size())));
    }
    add_environment(side);
  }

  // Of the sessions that items show, in the order of labels in which one session has them.
  void add_environment(reports::Side& side) {
    std::vector<std::pair<std::string, std::vector<std::string>>> values;
    for (const reports::Item& item : report_.items) {
      for (const reports::Labelled& each : item.environment) {
        auto found = std::find_if(values.begin(), values.end(), [&](const auto& label) { return label.first == each.label; });
        if (found == values.end()) found = values.insert(values.end(), {each.label, {}});
        if (std::find(found->second.begin(), found->second.end(), each.value) == found->second.end()) found->second.push_back(each.value);
      }
    }
    for (auto& [label, list] : values) {
      const std::size_t more = list.size() > kShownValues ? list.size() - kShownValues : 0;
      list.resize(list.size() - more);
      side.environment.push_back({label, fmt::format("{}{}", fmt::join(list, ", "), more > 0 ? fmt::format(" and {} more", more) : "")});
    }
  }

  void add_words() {
    std::set<std::string> kernels, devices, shapes;
    std::int64_t winners = 0;
    for (const reports::Item& item : report_.items) {
      kernels.insert(item.key.kernel);
      devices.insert(item.key.device);
      shapes.insert(item.key.kernel + " " + item.key.shape());
      winners += item.winner ? 1 : 0;
    }
    std::int64_t failed = 0;
    for (const auto& [outcome, count] : report_.outcomes) failed += has_time(outcome) ? 0 : count;
    const auto size = [](const std::set<std::string>& set) { return static_cast<std::int64_t>(set.size()); };
    const auto named = [&](const std::set<std::string>& set, const char* one, const char* many) {
      return set.size() == 1 ? *set.begin() : counted(size(set), one, many);
    };
    report_.title = report_.items.empty() ? std::string("nothing tuned yet")
                                          : fmt::format("{} on {}", named(kernels, "kernel", "kernels"), named(devices, "device", "devices"));
    report_.summary = fmt::format("{}, {}, {}: {}", counted(size(shapes), "shape", "shapes"), counted(size(kernels), "kernel", "kernels"),
                                  counted(size(devices), "device", "devices"), counted(winners, "winner", "winners"));
    if (!report_.side.published) report_.summary += fmt::format("; {}, {} failed", counted(report_.trial_count, "trial", "trials"), grouped(failed));
    report_.tunebook_version = TUNEBOOK_VERSION;
    report_.generated_utc = utc_text(context_.now);
    report_.command = valid_utf8(context_.command);
    if (selection_.all().empty()) {
      report_.notes.push_back("the book holds no session yet; tunebook tune KERNEL --shape ... makes one");
    } else if (winners == 0 && std::none_of(report_.items.begin(), report_.items.end(), [](const reports::Item& item) { return item.finished; })) {
      report_.notes.push_back("no session is finished yet: it has a winner at its end; the tunebook tune command that began it goes on with it");
    } else if (winners == 0) {
      report_.notes.push_back("no session has found a winner; the failures say why");
    }
    add_unfinished_note();
    add_ceiling_note();
    if (report_.side.published) {
      report_.notes.push_back("a published book holds winners only: for trials, failures and times by process ask the working book");
    }
    if (report_.side.book_version < 4) {
      report_.notes.push_back(fmt::format("the book has version {}: what later versions record is missing, until a Tunebook writes into it again",
                                          report_.side.book_version));
    }
  }

  void add_unfinished_note() {
    constexpr std::size_t kNamed = 3;
    std::string names;
    std::size_t count = 0;
    for (const reports::Item& item : report_.items) {
      if (!item.newer_unfinished || ++count > kNamed) continue;
      names += fmt::format("{}{} {}", names.empty() ? "" : ", ", item.key.kernel, item.key.shape());
    }
    if (count == 0) return;
    report_.notes.push_back(fmt::format("the newest session of {} of {} is not finished, and the finished one before it is shown: {}{}", grouped(static_cast<std::int64_t>(count)),
                                        counted(static_cast<std::int64_t>(groups_.size()), "shape", "shapes"), names,
                                        count > kNamed ? fmt::format(" and {} more", count - kNamed) : ""));
  }

  // Without ceilings a report cannot say how good a time is.
  void add_ceiling_note() {
    const auto lacking = std::find_if(report_.items.begin(), report_.items.end(), [](const reports::Item& item) {
      return item.key.device_kind == "cuda" && item.winner && (item.flops || item.bytes) && !item.ceiling;
    });
    const bool any = std::any_of(report_.items.begin(), report_.items.end(), [](const reports::Item& item) { return item.ceiling.has_value(); });
    if (lacking == report_.items.end() || any) return;
    report_.notes.push_back(fmt::format("the book has no measured ceilings of {}: after tunebook calibrate, reports say how near to them each winner comes", lacking->key.device));
  }

  History& history_;
  const SideRequest& side_;
  const ReportContext& context_;
  const reports::Limits& limits_;
  SessionSelection selection_;
  ItemReader items_;
  std::map<Key, Group> groups_;
  std::optional<TrialScan> scan_;
  reports::Report report_;
};

}  // namespace

reports::Report read_report(const SideRequest& side, const ReportContext& context) {
  reports::Report report;
  History::read(side.book, [&](History& history) { report = ReportReader(history, side, context).read(); });
  return report;
}

}  // namespace tunebook::cli
