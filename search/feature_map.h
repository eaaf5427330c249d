#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/space.h"

namespace tunebook {

// Configurations as a model sees them: for each parameter with more than one value a level, in the order of the values, and the
// position of each level on a scale from 0 to 1 (half by rank, half by the logarithm of the number). Texts have no order. A parameter
// with several integers is seen a second time by the largest power of two that divides its value: multiples of a warp, of a cache line
// or of a vector behave alike whatever their size.
class FeatureMap {
 public:
  static constexpr std::size_t kMaxLevels = 64;  // longer lists share levels

  struct Feature {
    std::size_t parameter = 0;
    bool ordered = true;
    std::vector<double> positions;         // of the levels
    std::vector<std::uint8_t> level_of;    // of each value index
  };

  explicit FeatureMap(const SearchSpace& space, bool alignment = true);
  std::size_t size() const { return features_.size(); }
  const std::vector<Feature>& features() const { return features_; }

  // `levels` has size() elements.
  void encode(std::span<const std::uint16_t> row, std::uint8_t* levels) const;
  void encode(std::uint64_t index, std::uint8_t* levels);

 private:
  void add_parameter(std::size_t parameter);
  void add_alignment(std::size_t parameter);

  const SearchSpace& space_;
  std::vector<Feature> features_;
  std::vector<std::uint16_t> row_;
};

}  // namespace tunebook
