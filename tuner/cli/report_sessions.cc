#include "cli/report_sessions.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <ctime>
#include <functional>
#include <set>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/utf8.h"

namespace tunebook::cli {
namespace {

const std::vector<std::string>& side_keys() {
  static const std::vector<std::string> keys = {"session", "date", "device", "kernel", "toolkit", "driver", "since", "until"};
  return keys;
}

// Where the next "#KEY=" begins; a "#" that is part of a path or a name is none.
std::size_t next_key(const std::string& text, std::size_t from) {
  for (std::size_t at = text.find('#', from); at != std::string::npos; at = text.find('#', at + 1)) {
    std::size_t end = at + 1;
    while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end > at + 1 && end < text.size() && text[end] == '=') return at;
  }
  return std::string::npos;
}

void check_time(const std::string& text, const std::string& where);

void set_filter(ReportFilter& filter, const std::string& key, const std::string& value, const std::string& where) {
  if (value.empty()) throw InputError(fmt::format("{}: {}= has no value", where, key));
  if (key == "session") filter.sessions.push_back(value);
  if (key == "date") filter.dates.push_back(value);
  if (key == "device") filter.devices.push_back(value);
  if (key == "kernel") filter.kernels.push_back(value);
  if (key == "toolkit") filter.toolkits.push_back(value);
  if (key == "driver") filter.drivers.push_back(value);
  if (key == "since" || key == "until") {
    check_time(value, where);
    (key == "since" ? filter.since : filter.until) = value;
  }
}

bool matches_pattern(const std::string& text, std::string_view pattern) {  // 9: a digit
  if (text.size() > pattern.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool fits = pattern[i] == '9' ? std::isdigit(static_cast<unsigned char>(text[i])) != 0 : text[i] == pattern[i];
    if (!fits) return false;
  }
  return true;
}

// Hours of "7d" or "12h"; 0: it is no such text.
std::int64_t relative_hours(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end + 1 != text.data() + text.size() || number <= 0 || number > 100'000) return 0;
  return *end == 'd' ? 24 * number : *end == 'h' ? number : 0;
}

// Whether "2026-11-29T14:30", of the right pattern, names a moment: no 30th of February, no 25th hour.
bool is_moment(const std::string& text) {
  const auto number = [&](std::size_t at, std::size_t length) {
    int value = 0;
    if (at + length <= text.size()) std::from_chars(text.data() + at, text.data() + at + length, value);
    return value;
  };
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)), std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  return date.ok() && number(11, 2) < 24 && number(14, 2) < 60 && number(17, 2) < 60;
}

void check_time(const std::string& text, const std::string& where) {
  constexpr std::string_view kPattern = "9999-99-99T99:99:99";
  const bool whole = text.size() == 10 || text.size() == 13 || text.size() == 16 || text.size() == 19;
  if (relative_hours(text) == 0 && !(whole && matches_pattern(text, kPattern) && is_moment(text))) {
    throw InputError(fmt::format("{}: '{}' is no time; write 2026-11-29, 2026-11-29T14:30 (UTC), or 7d or 12h for the last days or hours", where, text));
  }
}

void check_date(const std::string& text, const std::string& where) {
  if (text != "latest" && text != "previous" && !(text.size() == 10 && matches_pattern(text, "9999-99-99") && is_moment(text))) {
    throw InputError(fmt::format("{}: '{}' is no date; write 2026-11-29 (UTC), latest or previous", where, text));
  }
}

std::string absolute_time(const std::string& text, std::chrono::system_clock::time_point now) {
  const std::int64_t hours = relative_hours(text);
  if (hours == 0) return text;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(std::chrono::system_clock::to_time_t(now - std::chrono::hours(hours))));
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool contains(const std::string& text, const std::string& part) { return lower(text).find(lower(part)) != std::string::npos; }

std::string architecture(const Device& device) {
  return device.compute_capability > 0 ? fmt::format("sm_{}", device.compute_capability) : std::string();
}

bool device_matches(const Device& device, const std::string& wanted) {
  if (wanted == device.kind || wanted == architecture(device) || wanted == device.name) return true;
  return contains(device.name, wanted);
}

const std::string* find_label(const std::vector<reports::Labelled>& labels, std::string_view label) {
  for (const reports::Labelled& each : labels) {
    if (each.label == label) return &each.value;
  }
  return nullptr;
}

std::string quoted_list(const std::set<std::string>& values) {
  constexpr std::size_t kShown = 8;
  std::string text;
  std::size_t shown = 0;
  for (const std::string& value : values) {
    if (++shown > kShown) return text + fmt::format(" and {} more", values.size() - kShown);
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", value);
  }
  return text;
}

// "driver: 580.1" of an environment, as text.
std::string scalar_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

SideRequest parse_side(const std::string& text, const std::filesystem::path& default_book) {
  SideRequest side;
  side.label = valid_utf8(text);
  std::size_t at = next_key(text, 0);
  const std::string book = text.substr(0, at);
  side.book = book.empty() ? default_book : std::filesystem::path(book);
  while (at != std::string::npos) {
    const std::size_t equals = text.find('=', at);
    const std::string key = text.substr(at + 1, equals - at - 1);
    const std::size_t next = next_key(text, equals);
    const std::string value = text.substr(equals + 1, next == std::string::npos ? next : next - equals - 1);
    if (std::find(side_keys().begin(), side_keys().end(), key) == side_keys().end()) {
      const std::string nearest = nearest_word(key, side_keys());
      throw InputError(fmt::format("{}: '#{}=' is unknown{}; a side is BOOK or BOOK#KEY=VALUE, with the keys {}", side.label, key,
                                   nearest.empty() ? "" : fmt::format(" (did you mean #{}=?)", nearest), fmt::join(side_keys(), ", ")));
    }
    set_filter(side.filter, key, value, side.label);
    side.shown_filter.push_back({key, valid_utf8(value)});
    at = next;
  }
  for (const std::string& date : side.filter.dates) check_date(date, side.label);
  return side;
}

void add_filter(SideRequest& side, const ReportFilter& filter) {
  const auto add = [&](std::vector<std::string> ReportFilter::*member, const char* key) {
    if (!(side.filter.*member).empty()) return;
    for (const std::string& value : filter.*member) {
      (side.filter.*member).push_back(value);
      side.shown_filter.push_back({key, valid_utf8(value)});
    }
  };
  add(&ReportFilter::kernels, "kernel");
  add(&ReportFilter::devices, "device");
  add(&ReportFilter::sessions, "session");
  add(&ReportFilter::dates, "date");
  add(&ReportFilter::toolkits, "toolkit");
  add(&ReportFilter::drivers, "driver");
  for (const std::string& date : filter.dates) check_date(date, "--date");
  if (!filter.since.empty() && side.filter.since.empty()) {
    check_time(filter.since, "--since");
    side.filter.since = filter.since;
    side.shown_filter.push_back({"since", filter.since});
  }
  if (!filter.until.empty() && side.filter.until.empty()) {
    check_time(filter.until, "--until");
    side.filter.until = filter.until;
    side.shown_filter.push_back({"until", filter.until});
  }
}

const std::string& session_time(const HistorySession& session) {
  return session.finished_utc.empty() ? session.started_utc : session.finished_utc;
}

std::string session_date(const HistorySession& session) { return session_time(session).substr(0, 10); }

SessionSelection::SessionSelection(History& history, const SideRequest& side, std::chrono::system_clock::time_point now)
    : history_(history), book_(valid_utf8(side.book.string())), all_(history.sessions()) {
  for (HistoryKernel& kernel : history.kernels()) {
    kernel.name = valid_utf8(kernel.name);
    kernel.hash = valid_utf8(kernel.hash);
    kernels_[kernel.row] = std::move(kernel);
  }
  for (HistoryDevice& device : history.devices()) devices_[device.row] = std::move(device.device);
  for (HistorySession& session : all_) {
    if (!kernels_.contains(session.kernel) || !devices_.contains(session.device)) {
      throw InputError(fmt::format("book {0}: session {1} has no kernel or no device; tunebook doctor --book {0} tells more", book_, valid_utf8(session.id)));
    }
    for (std::string* text : {&session.id, &session.toolchain, &session.method, &session.strategy, &session.budget, &session.started_utc,
                              &session.finished_utc, &session.objective}) {
      *text = valid_utf8(*text);
    }
  }
  selected_ = all_;
  const ReportFilter& filter = side.filter;

  // Narrows `selected_`; a value that no session of the book has is a mistake.
  const auto narrow = [&](const char* what, const std::vector<std::string>& wanted,
                          const std::function<std::string(const HistorySession&)>& value_of,
                          const std::function<bool(const HistorySession&, const std::string&)>& fits) {
    if (wanted.empty()) return;
    for (const std::string& value : wanted) {
      if (std::any_of(all_.begin(), all_.end(), [&](const HistorySession& session) { return fits(session, value); })) continue;
      std::set<std::string> known;
      for (const HistorySession& session : all_) {
        if (const std::string text = value_of(session); !text.empty()) known.insert(text);
      }
      if (known.empty()) throw InputError(fmt::format("book {}: it has no sessions with a {}; leave out {} '{}'", book_, what, what, valid_utf8(value)));
      std::string nearest = nearest_word(value, {known.begin(), known.end()});
      throw InputError(fmt::format("book {}: no session of {} '{}'{}; there {} {}", book_, what, valid_utf8(value),
                                   nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest), known.size() == 1 ? "is" : "are",
                                   quoted_list(known)));
    }
    std::erase_if(selected_, [&](const HistorySession& session) {
      return std::none_of(wanted.begin(), wanted.end(), [&](const std::string& value) { return fits(session, value); });
    });
  };
  const auto label = [&](std::string_view name) {
    return [this, name](const HistorySession& session) {
      const std::vector<reports::Labelled> labels = environment(session);
      const std::string* value = find_label(labels, name);
      return value == nullptr ? std::string() : *value;
    };
  };
  const auto label_fits = [&](std::string_view name) {
    return [get = label(name)](const HistorySession& session, const std::string& value) { return contains(get(session), value); };
  };

  narrow("kernel", filter.kernels, [&](const HistorySession& session) { return kernel_name(session); },
         [&](const HistorySession& session, const std::string& value) { return kernel_name(session) == value; });
  narrow("device", filter.devices, [&](const HistorySession& session) { return device(session).name; },
         [&](const HistorySession& session, const std::string& value) { return device_matches(device(session), value); });
  narrow("session", filter.sessions, [](const HistorySession& session) { return session.id; },
         [](const HistorySession& session, const std::string& value) { return session.id.starts_with(value); });
  narrow("toolkit", filter.toolkits, label(reports::kToolkitLabel), label_fits(reports::kToolkitLabel));
  narrow("driver", filter.drivers, label(reports::kDriverLabel), label_fits(reports::kDriverLabel));

  const std::string since = absolute_time(filter.since, now), until = absolute_time(filter.until, now);
  std::erase_if(selected_, [&](const HistorySession& session) {
    const std::string& time = session_time(session);
    return (!since.empty() && time.substr(0, since.size()) < since) || (!until.empty() && time.substr(0, until.size()) > until);
  });

  // Last, since "latest" is the latest of what the others leave.
  std::set<std::string> dates;
  for (const HistorySession& session : selected_) dates.insert(session_date(session));
  std::vector<std::string> wanted_dates;
  for (const std::string& date : filter.dates) {
    if (date == "previous" && dates.size() < 2) {
      throw InputError(fmt::format("book {}: there is no previous date: all that is left ended on {}", book_, dates.empty() ? "no" : *dates.begin()));
    }
    wanted_dates.push_back(dates.empty() ? date : date == "latest" ? *dates.rbegin() : date == "previous" ? *std::next(dates.rbegin()) : date);
  }
  narrow("date", wanted_dates, session_date, [](const HistorySession& session, const std::string& value) { return session_date(session) == value; });

  if (selected_.empty() && !side.shown_filter.empty() && !all_.empty()) {
    std::string asked;
    for (const reports::Labelled& each : side.shown_filter) asked += fmt::format("{}{} {}", asked.empty() ? "" : ", ", each.label, each.value);
    throw InputError(fmt::format("book {}: no session has all of this: {}; leave out one of them", book_, asked));
  }
}

const std::string& SessionSelection::kernel_name(const HistorySession& session) const { return kernels_.at(session.kernel).name; }
const std::string& SessionSelection::kernel_hash(const HistorySession& session) const { return kernels_.at(session.kernel).hash; }
const Device& SessionSelection::device(const HistorySession& session) const { return devices_.at(session.device); }

const nlohmann::json& SessionSelection::environment_json(const HistorySession& session) {
  const auto found = environments_.find(session.environment);
  if (found != environments_.end()) return found->second;
  return environments_[session.environment] = history_.environment(session.environment);
}

std::vector<reports::Labelled> SessionSelection::environment(const HistorySession& session) {
  const Device& on = device(session);
  const nlohmann::json& json = environment_json(session);
  std::vector<reports::Labelled> labels;
  const auto add = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) labels.push_back({std::string(label), valid_utf8(value)});
  };
  // "nvrtc 13.0.88; driver 580.1 (CUDA 13.0)"
  constexpr std::string_view kDriver = "; driver ";
  const std::size_t cut = session.toolchain.find(kDriver);
  add(reports::kGpuLabel, on.name);
  add(reports::kDriverLabel, cut == std::string::npos ? std::string() : session.toolchain.substr(cut + kDriver.size()));
  add(reports::kToolkitLabel, session.toolchain.substr(0, cut));
  const std::size_t at = session.method.find('@');
  add(reports::kClocksLabel, on.kind != "cuda"         ? std::string()
                             : at == std::string::npos ? std::string("not locked")
                                                       : "locked at " + session.method.substr(at + 1));
  add("architecture", architecture(on));
  add("instruction set", on.instruction_set);
  add(on.kind == "cpu" ? "cores" : "SMs", on.sm_count > 0 ? std::to_string(on.sm_count) : std::string());
  for (const auto& [name, value] : json.items()) {
    if (name == "driver" || name == "compiler" || name == "locked_sm_clock_mhz" || value.is_structured()) continue;
    std::string label = name;
    std::replace(label.begin(), label.end(), '_', ' ');
    add(label, scalar_text(value));
  }
  return labels;
}

}  // namespace tunebook::cli
