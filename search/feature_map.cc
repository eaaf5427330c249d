#include "search/feature_map.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <variant>

#include "search/portable_math.h"

namespace tunebook {
namespace {

std::optional<double> number_of(const Value& value) {
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? 1.0 : 0.0;
  return std::nullopt;
}

// The logarithm, continued to zero and below.
double scale(double number) {
  if (number < 0) return -portable_log(1 - number);
  return number < 1 ? number - 1 : portable_log(number);
}

}  // namespace

FeatureMap::FeatureMap(const SearchSpace& space, bool alignment) : space_(space), row_(space.parameter_count()) {
  for (std::size_t p = 0; p < space.parameter_count(); ++p) add_parameter(p);
  for (std::size_t p = 0; alignment && p < space.parameter_count(); ++p) add_alignment(p);
}

void FeatureMap::add_parameter(std::size_t p) {
  const std::vector<Value>& values = space_.parameters()[p].values;
  if (values.size() < 2) return;
  Feature feature;
  feature.parameter = p;
  std::vector<double> numbers;
  for (const Value& value : values) {
    if (const std::optional<double> number = number_of(value)) numbers.push_back(*number);
  }
  feature.ordered = numbers.size() == values.size();
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (feature.ordered) std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return numbers[x] < numbers[y]; });
  const std::size_t levels = std::min(values.size(), kMaxLevels);
  feature.level_of.resize(values.size());
  feature.positions.assign(levels, 0);
  const double last = static_cast<double>(values.size() - 1);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::size_t level = rank * levels / order.size();
    feature.level_of[order[rank]] = static_cast<std::uint8_t>(level);
    const double by_rank = static_cast<double>(rank) / last;
    double by_number = by_rank;
    if (feature.ordered) {
      const double low = scale(numbers[order.front()]);
      const double high = scale(numbers[order.back()]);
      if (high > low) by_number = (scale(numbers[order[rank]]) - low) / (high - low);
    }
    feature.positions[level] = (by_rank + by_number) / 2;
  }
  features_.push_back(std::move(feature));
}

void FeatureMap::add_alignment(std::size_t p) {
  const std::vector<Value>& values = space_.parameters()[p].values;
  constexpr std::size_t kLeastValues = 5;   // fewer are told apart by themselves
  constexpr int kMostZeros = 7;             // 128: beyond it nothing in a GPU is aligned to
  if (values.size() < kLeastValues) return;
  std::vector<int> zeros;
  for (const Value& value : values) {
    const std::int64_t* integer = std::get_if<std::int64_t>(&value);
    if (integer == nullptr || *integer < 0) return;
    zeros.push_back(*integer == 0 ? kMostZeros : std::min(kMostZeros, std::countr_zero(static_cast<std::uint64_t>(*integer))));
  }
  // Where it only grows with the value, as among powers of two, it says nothing new.
  if (std::is_sorted(zeros.begin(), zeros.end())) return;
  const auto [low, high] = std::minmax_element(zeros.begin(), zeros.end());
  Feature feature;
  feature.parameter = p;
  for (int z = *low; z <= *high; ++z) feature.positions.push_back(static_cast<double>(z - *low) / (*high - *low));
  for (const int z : zeros) feature.level_of.push_back(static_cast<std::uint8_t>(z - *low));
  features_.push_back(std::move(feature));
}

void FeatureMap::encode(std::span<const std::uint16_t> row, std::uint8_t* levels) const {
  for (std::size_t f = 0; f < features_.size(); ++f) levels[f] = features_[f].level_of[row[features_[f].parameter]];
}

void FeatureMap::encode(std::uint64_t index, std::uint8_t* levels) {
  space_.row(index, row_);
  encode(row_, levels);
}

}  // namespace tunebook
