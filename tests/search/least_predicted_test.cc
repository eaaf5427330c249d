// The configurations that a prediction puts first: all of a small space, by descent in a large one.
#include "search/least_predicted.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "search_fixtures.h"

namespace tunebook {
namespace {

using test::counting;
using test::define;

// Distance to a point, in steps of each parameter.
std::int64_t distance_to(std::span<const std::uint16_t> row, std::int64_t target) {
  std::int64_t sum = 0;
  for (const std::uint16_t value : row) sum += std::abs(value - target);
  return sum;
}

TEST(LeastPredicted, OfASmallSpaceEveryConfigurationIsPredictedOnce) {
  const SearchSpace space =
      SearchSpace::build(define({counting("A", 10), counting("B", 10)}, {"A != B"}));
  ASSERT_EQ(space.size(), 90u);
  std::multiset<std::vector<std::uint16_t>> rows;
  const RowPredictor predict = [&](std::span<const std::uint16_t> row) {
    rows.emplace(row.begin(), row.end());
    return 100 * row[0] + 7 * row[1];
  };
  const auto chosen = least_predicted(space, predict, 3);
  EXPECT_EQ(rows.size(), 90u);
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_EQ(chosen[0].score, 7);  // A=0, B=1
  EXPECT_EQ(chosen[1].score, 14);
  EXPECT_EQ(chosen[2].score, 21);
  EXPECT_EQ(space.configuration(chosen[0].index).display(), "A=0,B=1");
}

TEST(LeastPredicted, WhatCannotBeToldApartComesOnceAsLongAsThereAreOthers) {
  EXPECT_EQ(least_of({{5, 1}, {5, 2}, {5, 3}, {6, 0}, {7, 9}}, 3),
            (std::vector<PredictedIndex>{{5, 1}, {6, 0}, {7, 9}}));
  EXPECT_EQ(least_of({{6, 0}, {5, 2}, {5, 1}, {5, 3}}, 3),
            (std::vector<PredictedIndex>{{5, 1}, {5, 2}, {6, 0}}));
  EXPECT_EQ(least_of({{6, 0}, {6, 0}}, 3), (std::vector<PredictedIndex>{{6, 0}}));
  EXPECT_TRUE(least_of({}, 3).empty());
}

TEST(LeastPredicted, DescendsInALargeSpaceWithinItsPredictions) {
  std::vector<Parameter> parameters;
  for (const char* name : {"A", "B", "C", "D", "E", "F"}) parameters.push_back(counting(name, 12));
  const SearchSpace space = SearchSpace::build(define(std::move(parameters), {"(A + B) % 2 == 0"}));
  ASSERT_GT(space.size(), 1'000'000u);
  std::size_t predicted = 0;
  const RowPredictor predict = [&](std::span<const std::uint16_t> row) {
    ++predicted;
    return distance_to(row, 7);
  };
  const auto chosen = least_predicted(space, predict, 2, {}, 4000);
  EXPECT_LE(predicted, 4000u);
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0].score, 0);
  EXPECT_EQ(space.configuration(chosen[0].index).display(), "A=7,B=7,C=7,D=7,E=7,F=7");
  EXPECT_EQ(least_predicted(space, predict, 2, {}, 4000), chosen);
}

TEST(LeastPredicted, GivenStartsAreLookedAround) {
  std::vector<Parameter> parameters;
  for (const char* name : {"A", "B", "C", "D", "E", "F"}) parameters.push_back(counting(name, 12));
  const SearchSpace space = SearchSpace::build(define(std::move(parameters)));
  // A hole that a sample does not meet: no slope leads there.
  const RowPredictor predict = [](std::span<const std::uint16_t> row) {
    return std::min<std::int64_t>(distance_to(row, 11), 4);
  };
  const std::uint64_t start = space.size() - 1 - 2;  // the last parameter is two steps away
  const auto without = least_predicted(space, predict, 1, {}, 500);
  EXPECT_GT(without.at(0).score, 0);
  const auto with = least_predicted(space, predict, 1, std::vector<std::uint64_t>{start}, 500);
  EXPECT_EQ(with.at(0).score, 0);
}

}  // namespace
}  // namespace tunebook
