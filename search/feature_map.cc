#include "search/feature_map.h"

#include <algorithm>
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

FeatureMap::FeatureMap(const SearchSpace& space, bool alignment, bool products) : space_(space), row_(space.parameter_count()) {
  for (std::size_t p = 0; p < space.parameter_count(); ++p) {
    const std::vector<Value>& values = space.parameters()[p].values;
    if (values.size() < 2) continue;
    Feature feature;
    feature.parameter = feature.second = p;
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
  const std::size_t plain = features_.size();
  if (alignment) for (std::size_t f = 0; f < plain; ++f) add_alignment(features_[f].parameter);
  if (products) for (std::size_t f = 0; f < plain; ++f) for (std::size_t g = 0; g < f; ++g) add_product(features_[g].parameter, features_[f].parameter);
}

void FeatureMap::add_alignment(std::size_t p) {
  const std::vector<Value>& values = space_.parameters()[p].values;
  if (values.size() < 5) return;
  Feature feature;
  feature.parameter = feature.second = p;
  int low = 64, high = 0;
  std::vector<int> zeros;
  bool monotone = true;
  for (const Value& value : values) {
    const std::int64_t* integer = std::get_if<std::int64_t>(&value);
    if (integer == nullptr || *integer < 0) return;
    int z = *integer == 0 ? 7 : std::min(7, __builtin_ctzll(static_cast<unsigned long long>(*integer)));
    if (!zeros.empty() && z < zeros.back()) monotone = false;
    zeros.push_back(z);
    low = std::min(low, z);
    high = std::max(high, z);
  }
  if (monotone) return;
  feature.positions.resize(static_cast<std::size_t>(high - low + 1));
  for (int z = low; z <= high; ++z) feature.positions[static_cast<std::size_t>(z - low)] = static_cast<double>(z - low) / (high - low);
  for (const int z : zeros) feature.level_of.push_back(static_cast<std::uint8_t>(z - low));
  features_.push_back(std::move(feature));
}

void FeatureMap::add_product(std::size_t first, std::size_t second) {
  const auto& x = space_.parameters()[first].values;
  const auto& y = space_.parameters()[second].values;
  if (x.size() < 3 || y.size() < 3) return;
  std::vector<double> logs;
  for (const Value& a : x) for (const Value& b : y) {
    const auto na = number_of(a), nb = number_of(b);
    if (!na || !nb || *na < 1 || *nb < 1) return;
    logs.push_back(portable_log(*na) + portable_log(*nb));
  }
  const double low = *std::min_element(logs.begin(), logs.end());
  const double high = *std::max_element(logs.begin(), logs.end());
  Feature feature;
  feature.parameter = first;
  feature.second = second;
  constexpr std::size_t kLevels = 32;
  feature.positions.resize(kLevels);
  for (std::size_t l = 0; l < kLevels; ++l) feature.positions[l] = static_cast<double>(l) / (kLevels - 1);
  for (const double l : logs) feature.level_of.push_back(static_cast<std::uint8_t>((l - low) / (high - low) * (kLevels - 1) + 0.5));
  features_.push_back(std::move(feature));
}

void FeatureMap::encode(std::span<const std::uint16_t> row, std::uint8_t* levels) const {
  for (std::size_t f = 0; f < features_.size(); ++f) {
    const Feature& feature = features_[f];
    std::size_t at = row[feature.parameter];
    if (feature.second != feature.parameter) at = at * space_.domain_size(feature.second) + row[feature.second];
    levels[f] = feature.level_of[at];
  }
}

void FeatureMap::encode(std::uint64_t index, std::uint8_t* levels) {
  space_.row(index, row_);
  encode(row_, levels);
}

}  // namespace tunebook
