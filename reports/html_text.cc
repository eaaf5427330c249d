#include "reports/html_text.h"

#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace tunebook::reports::page {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// Takes one character off the front of `text`; what is no UTF-8 (overlong forms and surrogates included) costs one byte.
char32_t take_character(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  std::size_t length = 1;
  char32_t character = first;
  if (first >= 0x80) {
    length = first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xC2 && first < 0xE0 ? 2 : 0;
    character = length == 0 ? kReplacement : first & (0x7F >> length);
    for (std::size_t i = 1; i < length; ++i) {
      if (i >= text.size() || (byte(i) & 0xC0) != 0x80) length = 0;
      else character = character << 6 | (byte(i) & 0x3F);
    }
    const bool overlong = (length == 3 && character < 0x800) || (length == 4 && (character < 0x10000 || character > 0x10FFFF));
    if (length == 0 || overlong || (character >= 0xD800 && character < 0xE000)) {
      length = 1;
      character = kReplacement;
    }
  }
  text.remove_prefix(length);
  return character;
}

void append_utf8(std::string& result, char32_t c) {
  if (c < 0x80) {
    result += static_cast<char>(c);
  } else if (c < 0x800) {
    result += static_cast<char>(0xC0 | c >> 6);
    result += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    result += static_cast<char>(0xE0 | c >> 12);
    result += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    result += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    result += static_cast<char>(0xF0 | c >> 18);
    result += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    result += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    result += static_cast<char>(0x80 | (c & 0x3F));
  }
}

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// Not characters that a document may hold (HTML, "noncharacter").
bool is_noncharacter(char32_t c) { return (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF); }

// A number's digits before its point in groups of three.
std::string grouped(std::string digits) {
  const std::size_t start = digits.starts_with('-') ? 1 : 0;
  std::size_t end = digits.find_first_not_of("0123456789", start);
  if (end == std::string::npos) end = digits.size();
  for (std::size_t place = end; place > start + 3; place -= 3) digits.insert(place - 3, ",");
  return digits;
}

// Four significant digits in positional notation.
std::string four_digits(double number) {
  if (!std::isfinite(number)) return "-";
  if (number == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(number))));
  if (magnitude < -6 || magnitude > 14) return fmt::format("{:.3e}", number);
  return fmt::format("{:.{}f}", number, std::max(0, 3 - magnitude));
}

}  // namespace

std::string escape(std::string_view text) {
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const char32_t c = take_character(text);
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      case '\n':
      case '\t': result += static_cast<char>(c); break;
      default:
        if (is_noncharacter(c)) append_utf8(result, kReplacement);
        else if (is_control(c)) result += fmt::format("[U+{:04X}]", static_cast<std::uint32_t>(c));
        else append_utf8(result, c);
    }
  }
  return result;
}

std::string isolated(std::string_view text) { return "<bdi>" + escape(text) + "</bdi>"; }

std::string cut(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return std::string(text.substr(0, bytes)) + "...";
}

std::string long_text(std::string_view text, std::size_t bytes, std::size_t most) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.size() == text.size() && text.size() <= bytes) return isolated(text);
  return fmt::format("<details class=\"long\"><summary>{}</summary><pre dir=\"auto\">{}</pre></details>",
                     isolated(line.size() < text.size() && line.size() <= bytes ? std::string(line) + " ..." : cut(line, bytes)),
                     escape(cut(text, most)));
}

std::string listed(std::string_view text, std::size_t bytes, std::size_t most) {
  std::string html = long_text(text, bytes, most);
  for (std::size_t comma = html.find(','); comma != std::string::npos; comma = html.find(',', comma + 1)) html.insert(comma + 1, "<wbr>");
  return html;
}

TimeUnit time_unit(double typical_us) {
  if (typical_us >= 1e6) return {"s", 1e6};
  if (typical_us >= 1e3) return {"ms", 1e3};
  return {"us", 1};
}

std::string in_unit(double us, const TimeUnit& unit) { return four_digits(us / unit.us); }

std::string time_text(double us) {
  const TimeUnit unit = time_unit(us);
  return fmt::format("{} {}", in_unit(us, unit), unit.name);
}

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 2 : 1);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", grouped(std::to_string(whole / 3600)), whole % 3600 / 60);
}

std::string number_text(double number) { return grouped(four_digits(number)); }
std::string count_text(long long count) { return grouped(std::to_string(count)); }

std::string change_text(double share) {
  const double percent = 100 * share;
  const std::string digits = fmt::format("{:.{}f}", std::abs(percent), std::abs(percent) < 99.95 ? 1 : 0);
  const bool zero = digits.find_first_not_of("0.") == std::string::npos;
  return fmt::format("{}{} %", zero ? "" : percent < 0 ? "\u2212" : "+", grouped(digits));
}

std::string percent_text(double percent) {
  return fmt::format("{} %", grouped(fmt::format("{:.{}f}", percent, percent < 9.95 ? 1 : 0)));
}

std::string plural(long long count, std::string_view noun) {
  return fmt::format("{} {}{}", count_text(count), noun, count == 1 ? "" : "s");
}

}  // namespace tunebook::reports::page
