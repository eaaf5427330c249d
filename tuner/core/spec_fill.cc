#include "core/spec_fill.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/fill_value.h"
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

// What a fill of these numbers would be better as; "" if they are fine whatever the type.
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
    case Fill::Kind::zero: return "";
  }
  return "";
}

constexpr std::uint64_t kSamples = 256;
constexpr int kMostAlike = 250;  // of kSamples

// What becomes of the numbers in the element's type: 1 + 1e-9 is 1 as f32, 1e6 is infinite as f16, -5 is 0 as u8.
std::string rounded_fault(const Fill& fill, DType type) {
  std::map<std::uint64_t, int> counts;
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    std::uint64_t bits = 0;
    store_from_double(type, fill_value(static_cast<int>(fill.kind), fill.low, fill.high, 1, i), &bits);
    const double value = load_as_double(type, &bits);
    if (!std::isfinite(value)) return fmt::format("numbers that are finite as {}", dtype_name(type));
    if (++counts[bits] > kMostAlike) return fmt::format("numbers that differ as {}, where these are (almost) all {}", dtype_name(type), value);
  }
  return "";
}

}  // namespace

Fill parse_fill(std::string_view text, const std::vector<DType>& types, bool inout, std::string& fault) {
  Fill fill;
  fill.text = std::string(text);
  fault = std::string(kFillForms);
  if (inout) fault += ", or zero where the kernel adds to what is there";
  const std::string_view whole = trimmed(text);
  const std::size_t open = whole.find('(');
  const std::string_view name = trimmed(whole.substr(0, open));
  if (name == "zero" && open == std::string_view::npos) {
    if (!inout) {
      fault += "; only an inout argument, which the kernel adds to, may be zero: a kernel that mixes up equal elements would pass";
      return fill;
    }
    fill.kind = Fill::Kind::zero;
    fault.clear();
    return fill;
  }
  if (name == "uniform") fill.kind = Fill::Kind::uniform;
  else if (name == "uniform_int") fill.kind = Fill::Kind::uniform_int;
  else if (name == "normal") fill.kind = Fill::Kind::normal;
  else if (name == "iota") fill.kind = Fill::Kind::iota;
  else {
    std::vector<std::string> known = {"uniform", "uniform_int", "normal", "iota"};
    if (inout) known.emplace_back("zero");
    const std::string near = nearest_word(name, known);
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
  fault = range_fault(fill, !std::all_of(types.begin(), types.end(), is_floating));
  for (const DType type : types) if (fault.empty()) fault = rounded_fault(fill, type);
  return fill;
}

const std::vector<std::pair<std::string, unsigned>>& special_names() {
  static const std::vector<std::pair<std::string, unsigned>> names = {
      {"nan", kSpecialNan}, {"inf", kSpecialInfinity}, {"-inf", kSpecialNegativeInfinity},
      {"-0", kSpecialNegativeZero}, {"max", kSpecialMax}, {"min_denormal", kSpecialMinDenormal}};
  return names;
}

void read_special(SpecReader& reader, const SpecNode& node, const std::vector<DType>& types, Fill& fill) {
  std::vector<std::string> known;
  for (const auto& [name, bit] : special_names()) known.push_back(name);
  reader.texts(node, fmt::format("an array of {}", fmt::join(known, ", ")));
  for (std::size_t i = 0; node.json.is_array() && i < node.json.size(); ++i) {
    const SpecNode item = node.at(i);
    if (!item.json.is_string() || item.json.get_ref<const std::string&>().empty()) continue;  // reported
    const auto& text = item.json.get_ref<const std::string&>();
    const auto found = std::find(known.begin(), known.end(), text);
    if (found == known.end()) reader.wrong(item, fmt::format("one of {}", fmt::join(known, ", ")), did_you_mean(text, known));
    else fill.special |= special_names()[static_cast<std::size_t>(found - known.begin())].second;
  }
  if (fill.special == 0) return;
  if (std::none_of(types.begin(), types.end(), is_floating)) {
    const std::string type(types.empty() ? "" : dtype_name(types.front()));
    reader.problem(node.path, fmt::format("found special values for elements of type {}, expected them for floating types only", type));
  } else if (fill.kind == Fill::Kind::zero) {
    reader.problem(node.path, "found special values beside the fill zero, expected another fill, such as uniform(-1, 1)");
  }
}

double Fill::largest_magnitude() const {
  switch (kind) {
    case Kind::none: return 0;
    case Kind::uniform:
    case Kind::uniform_int: return std::max(std::abs(low), std::abs(high));
    case Kind::normal: return std::abs(low) + 6 * std::abs(high);
    case Kind::iota: return std::numeric_limits<double>::infinity();
    case Kind::zero: return 0;
  }
  return 0;
}

}  // namespace tunebook
