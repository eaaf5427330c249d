#include <algorithm>
#include <charconv>
#include <ctime>
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

}  // namespace

TimeLimit TimeLimit::parse_time(const std::string& text, const std::string& what) {
  const char unit = text.empty() ? '\0' : text.back();
  const double scale = unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : 0;
  const std::string_view digits = std::string_view(text).substr(0, text.empty() ? 0 : text.size() - 1);
  constexpr std::size_t kMaxDigits = 32;
  double number = 0;
  const bool plain = !digits.empty() && digits.size() <= kMaxDigits && digits.find_first_not_of("0123456789.") == std::string_view::npos;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed);
  if (scale == 0 || !plain || error != std::errc() || end != digits.data() + digits.size() || !(number > 0)) {
    throw InputError(fmt::format("{}: found {}, expected a time such as 8h, 90m or 30s", what, in_quotes(text)));
  }
  TimeLimit limit;
  limit.seconds = number * scale;
  if (*limit.seconds > kMostSeconds) throw InputError(fmt::format("{}: found {}, expected a week at most", what, in_quotes(text)));
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
