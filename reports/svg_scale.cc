#include "reports/svg_scale.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tunebook::reports::page {
namespace {

// The shortest text of a tick's value; rounding drops what 0.1 + 0.2 adds.
std::string tick_label(double value) {
  const double size = std::abs(value);
  if (size != 0 && (size >= 1e6 || size < 1e-4)) return fmt::format("{:.3g}", value);
  return fmt::format("{}", std::stod(fmt::format("{:.6g}", value)));
}

}  // namespace

Scale::Scale(Kind kind, double low, double high, double from, double to) : kind_(kind), low_(low), high_(high), from_(from), to_(to) {
  if (low_ > high_) std::swap(low_, high_);
  if (!std::isfinite(low_) || !std::isfinite(high_) || (kind_ == Kind::logarithmic && low_ <= 0)) {
    low_ = kind_ == Kind::logarithmic ? 1 : 0;
    high_ = kind_ == Kind::logarithmic ? 10 : 1;
  }
  // A single value gets the middle.
  const double least = kind_ == Kind::logarithmic ? low_ * 1e-6 : std::max(std::abs(low_) * 1e-9, 1e-12);
  if (high_ - low_ < least) {
    const double wide = low_ == 0 ? 1 : std::abs(low_) * 0.1;
    low_ = kind_ == Kind::logarithmic ? low_ / 1.1 : low_ - wide;
    high_ = kind_ == Kind::logarithmic ? high_ * 1.1 : high_ + wide;
  }
}

double Scale::operator()(double value) const {
  const double share = kind_ == Kind::logarithmic ? (std::log(std::max(value, low_ * 1e-6)) - std::log(low_)) / (std::log(high_) - std::log(low_))
                                                  : (value - low_) / (high_ - low_);
  return from_ + (to_ - from_) * share;
}

std::vector<double> Scale::linear_values(int wanted) const {
  const double raw = (high_ - low_) / std::max(1, wanted);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  const double factor = raw / power;
  const double step = power * (factor <= 1.0001 ? 1 : factor <= 2.0001 ? 2 : factor <= 5.0001 ? 5 : 10);
  std::vector<double> values;
  // Multiples of the step by whole numbers, so that no sum of rounding errors is drawn.
  for (double k = std::ceil(low_ / step - 1e-9); k * step <= high_ + step * 1e-9; ++k) values.push_back(k == 0 ? 0 : k * step);  // no -0
  return values;
}

std::vector<double> Scale::logarithmic_values(int wanted) const {
  const double decades = std::log10(high_) - std::log10(low_);  // their ratio may be beyond a double
  const int first = static_cast<int>(std::floor(std::log10(low_)));
  const int last = static_cast<int>(std::ceil(std::log10(high_)));
  const int every = std::max(1, static_cast<int>(std::ceil(decades / std::max(1, wanted))));
  const bool powers_alone = decades >= 3;
  std::vector<double> values;
  for (int exponent = first; exponent <= last; ++exponent) {
    if (powers_alone && (exponent % every + every) % every != 0) continue;
    for (const double mantissa : {1.0, 2.0, 5.0}) {
      if (mantissa > 1 && powers_alone) break;
      const double value = mantissa * std::pow(10, exponent);
      if (value >= low_ * (1 - 1e-9) && value <= high_ * (1 + 1e-9)) values.push_back(value);
    }
  }
  return values.size() >= 3 || decades >= 1 ? values : linear_values(wanted);
}

std::vector<Tick> Scale::ticks(int wanted) const {
  std::vector<Tick> ticks;
  for (const double value : kind_ == Kind::logarithmic ? logarithmic_values(wanted) : linear_values(wanted)) {
    ticks.push_back({value, (*this)(value), tick_label(value)});
  }
  return ticks;
}

}  // namespace tunebook::reports::page
