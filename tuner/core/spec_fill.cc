#include "core/spec_fill.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/json_text.h"

namespace tunebook {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_whole(double value) { return value == std::floor(value) && std::abs(value) <= 9007199254740992.0; }

std::string range_fault(const Fill& fill, bool integer) {
  switch (fill.kind) {
    case Fill::Kind::none: return std::string(kFillForms);
    case Fill::Kind::uniform:
      if (!(fill.low < fill.high)) return "uniform(low, high) with low < high";
      if (integer && fill.high - fill.low < 4) return "uniform_int(low, high) for an integer type, which truncates these numbers to almost one value";
      return "";
    case Fill::Kind::uniform_int:
      if (!is_whole(fill.low) || !is_whole(fill.high) || !(fill.low < fill.high)) return "uniform_int(low, high) with integers low < high";
      return "";
    case Fill::Kind::normal:
      if (!(fill.high > 0)) return "normal(mean, deviation) with a deviation above 0";
      if (integer && fill.high < 1) return "normal(mean, deviation) with a deviation of at least 1 for an integer type";
      return "";
    case Fill::Kind::iota:
      if (fill.high == 0) return "iota(start, step) with a step other than 0";
      return "";
  }
  return "";
}

}  // namespace

Fill parse_fill(std::string_view text, bool integer, std::string& fault) {
  Fill fill;
  fill.text = std::string(text);
  fault = std::string(kFillForms);
  const std::string_view whole = trimmed(text);
  const std::size_t open = whole.find('(');
  const std::string_view name = trimmed(whole.substr(0, open));
  if (name == "uniform") fill.kind = Fill::Kind::uniform;
  else if (name == "uniform_int") fill.kind = Fill::Kind::uniform_int;
  else if (name == "normal") fill.kind = Fill::Kind::normal;
  else if (name == "iota") fill.kind = Fill::Kind::iota;
  else {
    const std::string near = nearest_word(name, {"uniform", "uniform_int", "normal", "iota"});
    if (!near.empty()) fault += fmt::format("; did you mean \"{}\"?", near);
    return fill;
  }
  const std::size_t comma = whole.find(',');
  if (open == std::string_view::npos || whole.back() != ')' || comma == std::string_view::npos || comma < open) return fill;
  const auto low = number(trimmed(whole.substr(open + 1, comma - open - 1)));
  const auto high = number(trimmed(whole.substr(comma + 1, whole.size() - comma - 2)));
  if (!low || !high) return fill;
  fill.low = *low;
  fill.high = *high;
  fault = range_fault(fill, integer);
  return fill;
}

double Fill::largest_magnitude() const {
  switch (kind) {
    case Kind::none: return 0;
    case Kind::uniform:
    case Kind::uniform_int: return std::max(std::abs(low), std::abs(high));
    case Kind::normal: return std::abs(low) + 6 * std::abs(high);
    case Kind::iota: return std::numeric_limits<double>::infinity();
  }
  return 0;
}

}  // namespace tunebook
