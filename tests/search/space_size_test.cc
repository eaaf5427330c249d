#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.h"
#include "search/space_builder.h"
#include "search_fixtures.h"

namespace tunebook {
namespace {

using test::counting;
using test::define;
using test::integers;

// a0 <= a1 <= ... <= a(n-1), each below m: one coupled group of binomial(m + n - 1, n) combinations.
SpaceDefinition rising_chain(int parameters, std::int64_t values) {
  std::vector<Parameter> list;
  std::vector<std::string> constraints;
  for (int i = 0; i < parameters; ++i) {
    list.push_back(counting("a" + std::to_string(i), values));
    if (i > 0) constraints.push_back("a" + std::to_string(i - 1) + " <= a" + std::to_string(i));
  }
  return define(std::move(list), constraints);
}

TEST(SpaceSize, ChainsOfHundredsOfBillions) {
  const SpaceSize size = space_size(rising_chain(10, 60));
  EXPECT_EQ(size.exact, 340'032'449'328u);  // binomial(69, 10)
  EXPECT_DOUBLE_EQ(size.count, 340'032'449'328.0);
  EXPECT_DOUBLE_EQ(size.largest_group, size.count);
  EXPECT_EQ(size.relative_error, 0);
  EXPECT_FALSE(size.fits());
}

TEST(SpaceSize, BeyondSixtyFourBits) {
  const SpaceSize size = space_size(rising_chain(30, 64));  // binomial(93, 30)
  EXPECT_FALSE(size.exact);
  EXPECT_EQ(size.relative_error, 0);
  EXPECT_NEAR(size.count / std::exp(std::lgamma(94) - std::lgamma(31) - std::lgamma(64)), 1, 1e-9);
}

TEST(SpaceSize, GroupsMultiply) {
  SpaceDefinition definition = define({counting("a", 1000), counting("b", 1000), counting("c", 1000), counting("d", 1000), counting("e", 7)},
                                      {"a < b", "c + d == 998", "e != 3"});
  const SpaceSize size = space_size(definition);
  EXPECT_EQ(size.exact, 499'500u * 999u * 6u);
  EXPECT_DOUBLE_EQ(size.largest_group, 499'500);
  EXPECT_TRUE(size.fits());
  EXPECT_EQ(SearchSpace::build(definition).size(), *size.exact);
}

// Every parameter in one constraint: nothing can be counted together.
TEST(SpaceSize, WhatCannotBeCountedIsEstimated) {
  std::vector<Parameter> list;
  std::string sum;
  for (int i = 0; i < 12; ++i) {
    list.push_back(counting("a" + std::to_string(i), 10));
    sum += (i > 0 ? " + a" : "a") + std::to_string(i);
  }
  const SpaceSize size = space_size(define(std::move(list), {sum + " <= 54"}), 200'000);
  EXPECT_FALSE(size.exact);
  EXPECT_GT(size.relative_error, 0);
  EXPECT_LT(size.relative_error, 0.05);
  // By symmetry a sum of 54, the middle, and half of the others.
  std::vector<double> ways = {1};
  for (int i = 0; i < 12; ++i) {
    std::vector<double> next(ways.size() + 9, 0.0);
    for (std::size_t s = 0; s < ways.size(); ++s) {
      for (std::size_t v = 0; v < 10; ++v) next[s + v] += ways[s];
    }
    ways = next;
  }
  const double truth = (1e12 + ways[54]) / 2;
  EXPECT_NEAR(size.count / truth, 1, 4 * size.relative_error);
  EXPECT_FALSE(size.fits());
}

TEST(SpaceSize, FailuresThatNothingRejectsAreNotCounted) {
  const std::vector<Parameter> small = {counting("a", 5), counting("b", 4), counting("c", 2)};
  EXPECT_EQ(space_size(define(small, {"a % b == 0"})).exact, (5u + 3u + 2u) * 2u);  // b = 1, 2, 3
  // 2000^3 combinations, one by one too many: of b = 0 a % b fails, unless c rejects it.
  const std::vector<Parameter> large = {counting("a", 2000), counting("b", 2000), counting("c", 2000)};
  const SpaceSize failing = space_size(define(large, {"a % b >= 0", "b + c >= 0"}));
  EXPECT_DOUBLE_EQ(failing.failing, 2000.0 * 2000);
  EXPECT_EQ(failing.exact, 2000ULL * 1999 * 2000);
  const SpaceSize rejected = space_size(define(large, {"a % b >= 0", "b > 0 or c > 1999"}));
  EXPECT_DOUBLE_EQ(rejected.failing, 0);
  EXPECT_EQ(rejected.exact, 2000ULL * 1999 * 2000);
}

TEST(SpaceSize, NoParametersAndNothingValid) {
  EXPECT_EQ(space_size(define({counting("a", 3)}, {"a > 5"})).exact, 0u);
  EXPECT_EQ(space_size(define({counting("a", 3), counting("b", 3)}, {"a + b > 5"})).exact, 0u);
  EXPECT_EQ(space_size(define({counting("a", 1)})).exact, 1u);
}

// The same number as by building, on random small spaces.
TEST(SpaceSize, AgreesWithBuilding) {
  const std::vector<std::string> shapes = {"{0} + {1} < {2}", "{0} * {1} <= 6", "{0} != {1}", "{0} % 2 == {1} % 2", "{0} < 4 or {1} > {2}", "{0} == {1} + {2}"};
  int large = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    std::vector<Parameter> parameters;
    const auto count = static_cast<int>(3 + random.below(5));
    for (int i = 0; i < count; ++i) parameters.push_back(counting(std::string(1, static_cast<char>('a' + i)), static_cast<std::int64_t>(1 + random.below(6))));
    std::vector<std::string> constraints;
    for (std::uint64_t n = random.below(6); n > 0; --n) {
      std::string text = shapes[random.below(shapes.size())];
      for (int place = 0; place < 3; ++place) {
        const std::string mark = "{" + std::to_string(place) + "}";
        const std::string name(1, static_cast<char>('a' + random.below(static_cast<std::uint64_t>(count))));
        for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) text.replace(at, mark.size(), name);
      }
      constraints.push_back(text);
    }
    const SpaceDefinition definition = define(parameters, constraints);
    const SearchSpace space = SearchSpace::build(definition);
    ASSERT_EQ(space_size(definition).exact, space.size()) << seed;
    const KeyLayout layout(definition.parameters);
    const SpaceSize together = SpaceBuilder(definition, layout).size(1'000'000, 0);
    ASSERT_EQ(together.exact, space.size()) << seed;
    EXPECT_EQ(together.failing, 0);
    large += space.size() > 100 ? 1 : 0;
  }
  EXPECT_GT(large, 50);
}

TEST(SpaceSize, ExplainsWhatItCannotList) {
  const SpaceExplanation explanation = explain(define(rising_chain(10, 60).parameters, {"a0 < 50", "a0 <= a1"}));
  EXPECT_DOUBLE_EQ(explanation.constraints[0].alone, 10.0 / 60);
  EXPECT_EQ(explanation.constraints[0].valid_without, 1830u * static_cast<std::uint64_t>(std::pow(60, 8)));
  ASSERT_EQ(explanation.unused_values.size(), 1u);
  EXPECT_EQ(explanation.unused_values[0].first, "a0");
  EXPECT_EQ(explanation.unused_values[0].second.size(), 10u);
}

}  // namespace
}  // namespace tunebook
