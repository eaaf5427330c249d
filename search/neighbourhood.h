#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/space.h"

namespace tunebook {

// Neighbours of a configuration within the valid ones, found without scanning the space.
class Neighbourhood {
 public:
  explicit Neighbourhood(const SearchSpace& space) : space_(space), row_(space.parameter_count()) {}

  // Those that differ in one parameter.
  void hamming(std::uint64_t index, std::vector<std::uint64_t>& neighbours);
  // Those that differ in one parameter, by one value.
  void strictly_adjacent(std::uint64_t index, std::vector<std::uint64_t>& neighbours);

 private:
  const SearchSpace& space_;
  std::vector<std::uint16_t> row_;
};

}  // namespace tunebook
