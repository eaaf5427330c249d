#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/random.h"
#include "search/space.h"

namespace tunebook {

// Neighbours of a configuration within the valid ones, found without scanning the space. Rows may be invalid ones.
class Neighbourhood {
 public:
  explicit Neighbourhood(const SearchSpace& space);

  // Those that differ in one parameter.
  void hamming(std::span<const std::uint16_t> row, std::vector<std::uint64_t>& neighbours);
  void hamming(std::uint64_t index, std::vector<std::uint64_t>& neighbours);
  // Those that differ in one parameter, by one value.
  void strictly_adjacent(std::span<const std::uint16_t> row, std::vector<std::uint64_t>& neighbours);
  // Those all of whose value indices differ by at most one, `limit` at most.
  void adjacent(std::span<const std::uint16_t> row, std::vector<std::uint64_t>& neighbours, std::size_t limit = 4096);

  // The row itself if it is valid, else a random valid neighbour: strictly adjacent, then adjacent, then Hamming; empty if there is none.
  std::optional<std::uint64_t> repair(std::span<const std::uint16_t> row, Random& random);

  // Parameters with more than one value.
  const std::vector<std::size_t>& free_parameters() const { return free_; }

 private:
  void add_adjacent(std::size_t position, std::vector<std::uint64_t>& neighbours, std::size_t limit, std::size_t& visits);

  const SearchSpace& space_;
  std::vector<std::size_t> free_;
  std::vector<std::uint16_t> row_;
  std::vector<std::uint64_t> found_;
};

}  // namespace tunebook
