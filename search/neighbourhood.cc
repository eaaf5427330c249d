#include "search/neighbourhood.h"

namespace tunebook {

void Neighbourhood::hamming(std::uint64_t index, std::vector<std::uint64_t>& neighbours) {
  neighbours.clear();
  space_.row(index, row_);
  for (std::size_t p = 0; p < row_.size(); ++p) {
    const std::uint16_t own = row_[p];
    for (std::size_t v = 0; v < space_.domain_size(p); ++v) {
      if (v == own) continue;
      row_[p] = static_cast<std::uint16_t>(v);
      if (const auto found = space_.find(std::span<const std::uint16_t>(row_))) neighbours.push_back(*found);
    }
    row_[p] = own;
  }
}

void Neighbourhood::strictly_adjacent(std::uint64_t index, std::vector<std::uint64_t>& neighbours) {
  neighbours.clear();
  space_.row(index, row_);
  for (std::size_t p = 0; p < row_.size(); ++p) {
    const std::uint16_t own = row_[p];
    for (const int step : {-1, 1}) {
      const int v = own + step;
      if (v < 0 || v >= static_cast<int>(space_.domain_size(p))) continue;
      row_[p] = static_cast<std::uint16_t>(v);
      if (const auto found = space_.find(std::span<const std::uint16_t>(row_))) neighbours.push_back(*found);
    }
    row_[p] = own;
  }
}

}  // namespace tunebook
