#include "search/neighbourhood.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "search_fixtures.h"

namespace tunebook {
namespace {

// By scanning: differences of each valid configuration from a row.
struct Difference {
  int parameters = 0;
  int largest = 0;
};
Difference difference(const SearchSpace& space, std::uint64_t index, const std::vector<std::uint16_t>& row) {
  std::vector<std::uint16_t> other(row.size());
  space.row(index, other);
  Difference result;
  for (std::size_t p = 0; p < row.size(); ++p) {
    result.parameters += row[p] == other[p] ? 0 : 1;
    result.largest = std::max(result.largest, std::abs(row[p] - other[p]));
  }
  return result;
}

template <typename Predicate>
std::vector<std::uint64_t> scan(const SearchSpace& space, const std::vector<std::uint16_t>& row, const Predicate& predicate) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    const Difference d = difference(space, i, row);
    if (d.parameters > 0 && predicate(d)) found.push_back(i);
  }
  return found;
}

std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> indices) {
  std::sort(indices.begin(), indices.end());
  return indices;
}

TEST(Neighbourhood, AgreesWithScanning) {
  const SearchSpace space = SearchSpace::build(test::define(
      {test::counting("a", 5), test::counting("b", 4), test::counting("one", 1), test::counting("c", 6)}, {"(a + b * c) % 3 != 1", "a + c < 9"}));
  Neighbourhood neighbourhood(space);
  EXPECT_EQ(neighbourhood.free_parameters(), (std::vector<std::size_t>{0, 1, 3}));
  std::vector<std::uint64_t> found;
  for (std::uint16_t a = 0; a < 5; ++a) {
    for (std::uint16_t b = 0; b < 4; ++b) {
      for (std::uint16_t c = 0; c < 6; ++c) {
        const std::vector<std::uint16_t> row = {a, b, 0, c};  // valid or not
        neighbourhood.hamming(row, found);
        EXPECT_EQ(sorted(found), scan(space, row, [](const Difference& d) { return d.parameters == 1; }));
        neighbourhood.strictly_adjacent(row, found);
        EXPECT_EQ(sorted(found), scan(space, row, [](const Difference& d) { return d.parameters == 1 && d.largest == 1; }));
        neighbourhood.adjacent(row, found);
        EXPECT_EQ(sorted(found), scan(space, row, [](const Difference& d) { return d.largest == 1; }));
      }
    }
  }
}

TEST(Neighbourhood, RepairTakesTheNearestKind) {
  const SearchSpace space = SearchSpace::build(test::define({test::counting("a", 10), test::counting("b", 10)}, {"a == b or a + b == 12"}));
  Neighbourhood neighbourhood(space);
  Random random(1);
  const auto repaired = [&](std::uint16_t a, std::uint16_t b) {
    const auto index = neighbourhood.repair(std::vector<std::uint16_t>{a, b}, random);
    std::vector<std::uint16_t> row(2);
    if (index) space.row(*index, row);
    return row;
  };
  EXPECT_EQ(repaired(4, 4), (std::vector<std::uint16_t>{4, 4}));     // valid already
  const std::vector<std::uint16_t> near = repaired(7, 4);            // strictly adjacent: (8, 4) or (7, 5)
  EXPECT_EQ(near[0] + near[1], 12);
  EXPECT_EQ(repaired(3, 1), (std::vector<std::uint16_t>{2, 2}));     // adjacent
  const std::vector<std::uint16_t> far = repaired(0, 5);             // (5, 5), (0, 0), (7, 5): Hamming
  EXPECT_TRUE(far[0] == 0 || far[1] == 5);
}

}  // namespace
}  // namespace tunebook
