#include "search/neighbourhood.h"

namespace tunebook {
namespace {

// 3^d rows are adjacent to one; of spaces with many parameters only so many are looked at.
constexpr std::size_t kMaxAdjacentVisits = 20'000;

}  // namespace

Neighbourhood::Neighbourhood(const SearchSpace& space) : space_(space), row_(space.parameter_count()) {
  for (std::size_t p = 0; p < space.parameter_count(); ++p) {
    if (space.domain_size(p) > 1) free_.push_back(p);
  }
}

void Neighbourhood::hamming(std::uint64_t index, std::vector<std::uint64_t>& neighbours) {
  std::vector<std::uint16_t> row(space_.parameter_count());
  space_.row(index, row);
  hamming(row, neighbours);
}

void Neighbourhood::hamming(std::span<const std::uint16_t> row, std::vector<std::uint64_t>& neighbours) {
  neighbours.clear();
  row_.assign(row.begin(), row.end());
  for (const std::size_t p : free_) {
    for (std::size_t v = 0; v < space_.domain_size(p); ++v) {
      if (v == row[p]) continue;
      row_[p] = static_cast<std::uint16_t>(v);
      if (const auto found = space_.find(std::span<const std::uint16_t>(row_))) neighbours.push_back(*found);
    }
    row_[p] = row[p];
  }
}

void Neighbourhood::strictly_adjacent(std::span<const std::uint16_t> row, std::vector<std::uint64_t>& neighbours) {
  neighbours.clear();
  row_.assign(row.begin(), row.end());
  for (const std::size_t p : free_) {
    for (const int step : {-1, 1}) {
      const int v = row[p] + step;
      if (v < 0 || v >= static_cast<int>(space_.domain_size(p))) continue;
      row_[p] = static_cast<std::uint16_t>(v);
      if (const auto found = space_.find(std::span<const std::uint16_t>(row_))) neighbours.push_back(*found);
    }
    row_[p] = row[p];
  }
}

void Neighbourhood::adjacent(std::span<const std::uint16_t> row, std::vector<std::uint64_t>& neighbours, std::size_t limit) {
  neighbours.clear();
  row_.assign(row.begin(), row.end());
  std::size_t visits = 0;
  add_adjacent(0, neighbours, limit, visits);
  const auto own = space_.find(row);
  if (own) std::erase(neighbours, *own);
}

void Neighbourhood::add_adjacent(std::size_t position, std::vector<std::uint64_t>& neighbours, std::size_t limit,
                                 std::size_t& visits) {
  if (neighbours.size() >= limit || visits >= kMaxAdjacentVisits) return;
  if (position == free_.size()) {
    ++visits;
    if (const auto found = space_.find(std::span<const std::uint16_t>(row_))) neighbours.push_back(*found);
    return;
  }
  const std::size_t p = free_[position];
  const std::uint16_t own = row_[p];
  for (const int step : {0, -1, 1}) {
    const int v = own + step;
    if (v < 0 || v >= static_cast<int>(space_.domain_size(p))) continue;
    row_[p] = static_cast<std::uint16_t>(v);
    add_adjacent(position + 1, neighbours, limit, visits);
  }
  row_[p] = own;
}

std::optional<std::uint64_t> Neighbourhood::repair(std::span<const std::uint16_t> row, Random& random) {
  if (const auto own = space_.find(row)) return own;
  strictly_adjacent(row, found_);
  if (found_.empty()) adjacent(row, found_);
  if (found_.empty()) hamming(row, found_);
  if (found_.empty()) return std::nullopt;
  return found_[random.below(found_.size())];
}

}  // namespace tunebook
