#include <algorithm>
#include <charconv>
#include <ctime>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"
#include "core/spec_reader.h"
#include "sweep/plan.h"

namespace tunebook {
namespace {

constexpr double kMostSeconds = 7 * 24 * 3600.0;
constexpr int kMinutesOfDay = 24 * 60;

// Seconds since 1970 of that minute of the day that `days` after `start`'s is, local time.
double moment(std::time_t start, int days, int minute) {
  std::tm local{};
  localtime_r(&start, &local);
  local.tm_mday += days;
  local.tm_hour = minute / 60;
  local.tm_min = minute % 60;
  local.tm_sec = 0;
  local.tm_isdst = -1;  // mktime finds out whether summer time holds then
  return static_cast<double>(std::mktime(&local));
}

// Numbers with their units, the larger unit first: "8h", "1.5h", "7m30s". Nothing if it is none, or no time at all.
std::optional<double> seconds_of(std::string_view text) {
  constexpr std::size_t kMaxDigits = 32;  // of a number
  double seconds = 0;
  if (text.empty()) return std::nullopt;
  for (std::string_view units = "hms"; !text.empty();) {
    const std::size_t length = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::size_t unit = length < text.size() ? units.find(text[length]) : std::string_view::npos;
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + length, number, std::chars_format::fixed);
    if (length == 0 || length > kMaxDigits || unit == std::string_view::npos || error != std::errc() || end != text.data() + length) return std::nullopt;
    seconds += number * (text[length] == 'h' ? 3600 : text[length] == 'm' ? 60 : 1);
    units.remove_prefix(unit + 1);
    text.remove_prefix(length + 1);
  }
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

}  // namespace

TimeLimit TimeLimit::parse_time(const std::string& text, const std::string& what) {
  const std::optional<double> seconds = seconds_of(text);
  if (!seconds) throw InputError(fmt::format("{}: found {}, expected a time such as 8h, 90m, 30s or 7m30s", what, in_quotes(text)));
  if (*seconds > kMostSeconds) throw InputError(fmt::format("{}: found {}, expected a week at most", what, in_quotes(text)));
  TimeLimit limit;
  limit.seconds = seconds;
  return limit;
}

TimeLimit TimeLimit::parse_until(const std::string& text, const std::string& what) {
  const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9' ? text[i] - '0' : 100; };
  if (text.size() == 5 && text[2] == ':') {
    const int hour = 10 * digit(0) + digit(1);
    const int minute = 10 * digit(3) + digit(4);
    if (hour < 24 && minute < 60) {
      TimeLimit limit;
      limit.until_minute = 60 * hour + minute;
      return limit;
    }
  }
  throw InputError(fmt::format("{}: found {}, expected a time of the day such as 06:00", what, in_quotes(text)));
}

std::optional<double> TimeLimit::deadline(double start) const {
  std::optional<double> end;
  if (seconds) end = start + *seconds;
  if (until_minute) {
    const int minute = std::clamp(*until_minute, 0, kMinutesOfDay - 1);
    // Yesterday's and the days after: a change to summer time may move a moment past `start`.
    for (int days = -1; days <= 2; ++days) {
      const double at = moment(static_cast<std::time_t>(start), days, minute);
      if (at <= start) continue;
      end = end ? std::min(*end, at) : at;
      break;
    }
  }
  return end;
}

}  // namespace tunebook
