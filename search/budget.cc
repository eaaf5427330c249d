#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"
#include "search/strategy.h"

namespace tunebook {
namespace {

// Longer sessions are typing errors; also keeps the conversion to clock ticks far from overflow.
constexpr double kMaxSeconds = 366.0 * 24 * 3600;

[[noreturn]] void reject(const std::string& text, std::string_view reason) {
  throw InputError(fmt::format("--budget \"{}\": {}; give a number of trials (200), a share of the space (10%), a time "
                               "(30s, 5m, 2h), \"all\", or \"auto\"",
                               text, reason));
}

// Digits with at most one decimal point: no sign, exponent, space, "inf" or "nan".
std::optional<double> parse_decimal(std::string_view digits) {
  constexpr std::size_t kMaxDigits = 32;  // far from overflow and underflow
  if (digits.empty() || digits.size() > kMaxDigits) return std::nullopt;
  if (digits.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::uint64_t parse_trials(const std::string& text) {
  std::uint64_t trials = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), trials);
  if (error == std::errc::result_out_of_range) reject(text, "more trials than a number can hold");
  if (error != std::errc{} || end != text.data() + text.size()) {
    reject(text, text.starts_with('-') ? "a budget must be positive" : "not a budget");
  }
  if (trials == 0) reject(text, "a budget must be positive");
  return trials;
}

}  // namespace

Budget Budget::parse(const std::string& text) {
  Budget budget;
  budget.text = text;
  if (text == "all") {
    budget.share = 1;
    return budget;
  }
  if (text == "auto") {
    budget.automatic = true;
    return budget;
  }
  const char unit = text.empty() ? '\0' : text.back();
  const double scale = unit == '%' ? 0.01 : unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : 0;
  if (scale == 0) {
    budget.trials = parse_trials(text);
    return budget;
  }
  const std::optional<double> number = parse_decimal(std::string_view(text).substr(0, text.size() - 1));
  if (!number) reject(text, text.starts_with('-') ? "a budget must be positive" : "not a budget");
  if (!(*number > 0)) reject(text, "a budget must be positive");
  if (unit == '%') {
    if (*number > 100) reject(text, "more than the whole space");
    budget.share = *number / 100;
  } else {
    budget.seconds = *number * scale;
    if (!(*budget.seconds <= kMaxSeconds)) reject(text, "longer than a year");
  }
  return budget;
}

std::uint64_t Budget::trial_limit(std::uint64_t size) const {
  if (trials) return std::min(*trials, size);
  if (automatic) return std::min(kAutoMost, size);
  if (!share || *share >= 1) return size;
  // Rounded up, but 7 % of 100 is 7 although 0.07 * 100 > 7 in doubles.
  constexpr double kRounding = 1e-12;
  const double exact = *share * static_cast<double>(size);
  const auto limit = static_cast<std::uint64_t>(std::ceil(exact * (1 - kRounding)));
  return std::min(limit, size);
}

}  // namespace tunebook
