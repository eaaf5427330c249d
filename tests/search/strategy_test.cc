#include "search/strategy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "search_fixtures.h"

namespace tunebook {
namespace {

SearchSpace space_of(std::int64_t size) {
  if (size == 0) return SearchSpace::build(test::define({test::counting("a", 2)}, {"a > 5"}));
  return SearchSpace::build(test::define({test::counting("a", size)}));
}

std::vector<std::uint64_t> drain(Strategy& strategy, std::size_t batch) {
  std::vector<std::uint64_t> all;
  while (!strategy.exhausted()) {
    const std::vector<std::uint64_t> proposals = strategy.ask(batch);
    EXPECT_FALSE(proposals.empty());
    EXPECT_LE(proposals.size(), batch);
    for (const std::uint64_t index : proposals) {
      all.push_back(index);
      strategy.tell(index, {Outcome::ok, 1.0});
    }
  }
  EXPECT_TRUE(strategy.ask(batch).empty());
  return all;
}

std::vector<std::uint64_t> identity(std::uint64_t size) {
  std::vector<std::uint64_t> result;
  for (std::uint64_t i = 0; i < size; ++i) result.push_back(i);
  return result;
}

TEST(Strategy, ExhaustiveGoesThroughTheRows) {
  const SearchSpace space = space_of(23);
  EXPECT_EQ(drain(*make_strategy("exhaustive", space, 1), 5), identity(23));
}

TEST(Strategy, RandomIsAPermutation) {
  for (const std::int64_t size : {1, 2, 3, 7, 8, 9, 64, 1000, 40'000}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const SearchSpace space = space_of(size);
      std::vector<std::uint64_t> order = drain(*make_strategy("random", space, seed), 7);
      std::sort(order.begin(), order.end());
      ASSERT_EQ(order, identity(static_cast<std::uint64_t>(size)));
    }
  }
}

TEST(Strategy, RandomDependsOnTheSeedAlone) {
  const SearchSpace space = space_of(1000);
  const auto order = [&](std::uint64_t seed, std::size_t batch) { return drain(*make_strategy("random", space, seed), batch); };
  EXPECT_EQ(order(3, 1), order(3, 17));
  EXPECT_NE(order(3, 1), order(4, 1));
  // A fixed answer: the same on every platform and in every version.
  const std::vector<std::uint64_t> first = make_strategy("random", space, 1)->ask(5);
  EXPECT_EQ(first, make_strategy("random", space, 1)->ask(5));
}

// All 24 orders of 4 configurations come up equally often: chi-square with 23 degrees of freedom, 49.7 at p = 0.001.
TEST(Strategy, RandomOrdersAreUniform) {
  const SearchSpace space = space_of(4);
  std::map<std::vector<std::uint64_t>, int> seen;
  constexpr int kRuns = 24'000;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) ++seen[make_strategy("random", space, seed)->ask(4)];
  ASSERT_EQ(seen.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : seen) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 49.7);
}

// Where configuration i comes in a longer order: 10 x 10 cells, 81 degrees of freedom, 125 at p = 0.001.
TEST(Strategy, RandomPositionsAreUniform) {
  const SearchSpace space = space_of(10);
  std::array<std::array<int, 10>, 10> seen{};
  constexpr int kRuns = 10'000;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    const std::vector<std::uint64_t> order = make_strategy("random", space, seed)->ask(10);
    for (std::size_t position = 0; position < 10; ++position) ++seen[position][order[position]];
  }
  double chi_square = 0;
  for (const auto& row : seen) {
    for (const int count : row) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  }
  EXPECT_LT(chi_square, 125);
}

TEST(Strategy, ExcludedIndicesAreNotProposed) {
  for (const std::string& name : strategy_names()) {
    const SearchSpace space = space_of(50);
    const auto strategy = make_strategy(name, space, 9);
    const std::set<std::uint64_t> excluded = {0, 1, 17, 49};
    for (const std::uint64_t index : excluded) strategy->exclude(index);
    strategy->exclude(17);
    std::vector<std::uint64_t> order = strategy->ask(10);
    strategy->exclude(order[3]);  // already proposed: no effect
    for (const std::uint64_t index : drain(*strategy, 8)) order.push_back(index);
    EXPECT_EQ(order.size(), 46u);
    EXPECT_EQ(std::set<std::uint64_t>(order.begin(), order.end()).size(), 46u);
    for (const std::uint64_t index : order) EXPECT_FALSE(excluded.contains(index));
    EXPECT_THROW(strategy->exclude(50), std::out_of_range);
  }
}

TEST(Strategy, ExcludingEverythingExhausts) {
  for (const std::string& name : strategy_names()) {
    const SearchSpace space = space_of(3);
    const auto strategy = make_strategy(name, space, 9);
    for (std::uint64_t i = 0; i < 3; ++i) {
      EXPECT_FALSE(strategy->exhausted());
      strategy->exclude(i);
    }
    EXPECT_TRUE(strategy->exhausted());
    EXPECT_TRUE(strategy->ask(4).empty());
  }
}

TEST(Strategy, SmallestSpaces) {
  for (const std::string& name : strategy_names()) {
    const SearchSpace none = space_of(0);
    const auto empty = make_strategy(name, none, 0);
    EXPECT_TRUE(empty->exhausted());
    EXPECT_TRUE(empty->ask(3).empty());
    const SearchSpace one = space_of(1);
    const auto single = make_strategy(name, one, 0);
    EXPECT_TRUE(single->ask(0).empty());
    EXPECT_EQ(single->ask(3), std::vector<std::uint64_t>{0});
    EXPECT_TRUE(single->exhausted());
  }
}

TEST(Strategy, UnknownNameGivesTheNearest) {
  const SearchSpace space = space_of(1);
  EXPECT_EQ(test::message_of([&] { make_strategy("randon", space, 0); }),
            "unknown strategy \"randon\", did you mean \"random\"?; there are: exhaustive, random");
  EXPECT_THROW(make_strategy("", space, 0), InputError);
}

}  // namespace
}  // namespace tunebook
