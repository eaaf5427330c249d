#include "search/strategy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
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
    for (const std::uint64_t index : order) strategy->tell(index, {Outcome::ok, 2.0});
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

// A kernel-like landscape over five parameters with a constraint: the best block is 128, aligned tiles are better, some
// configurations fail.
SearchSpace landscape_space() {
  return SearchSpace::build(test::define({test::integers("bx", {16, 32, 48, 64, 96, 128, 192, 256}), test::integers("by", {1, 2, 4, 8, 16}),
                                          test::integers("tx", {1, 2, 3, 4, 6, 8}), test::integers("ty", {1, 2, 3, 4, 6, 8}),
                                          test::integers("pad", {0, 1})}, {"bx * by <= 1024", "bx * by >= 32"}));
}

Observation landscape(const SearchSpace& space, std::uint64_t index) {
  const Configuration configuration = space.configuration(index);
  const auto value = [&](const char* name) { return static_cast<double>(std::get<std::int64_t>(configuration.at(name))); };
  const double threads = value("bx") * value("by");
  const double tile = value("tx") * value("ty");
  if (tile > 40) return {Outcome::compile_error, std::nullopt};
  const double off = std::abs(std::log2(threads / 128)) + std::abs(std::log2(tile / 8)) + 0.3 * std::abs(std::log2(value("tx") / 2));
  const double misaligned = static_cast<std::int64_t>(value("bx")) % 32 == 0 ? 0 : 0.4;
  return {Outcome::ok, 100 * (1 + 0.2 * off + misaligned + 0.05 * value("pad"))};
}

std::vector<std::uint64_t> run(const std::string& name, const SearchSpace& space, std::uint64_t seed, std::size_t evaluations,
                               double unit = 1) {
  const auto strategy = make_strategy(name, space, seed);
  std::vector<std::uint64_t> proposals;
  while (proposals.size() < evaluations && !strategy->exhausted()) {
    for (const std::uint64_t index : strategy->ask(1)) {
      proposals.push_back(index);
      Observation observation = landscape(space, index);
      if (observation.value) *observation.value *= unit;
      strategy->tell(index, observation);
    }
  }
  return proposals;
}

double best_of(const SearchSpace& space, const std::vector<std::uint64_t>& proposals) {
  double best = 1e9;
  for (const std::uint64_t index : proposals) best = std::min(best, landscape(space, index).value.value_or(1e9));
  return best;
}

TEST(Strategy, EveryOneProposesEachConfigurationOnceAndEnds) {
  const SearchSpace space = SearchSpace::build(test::define(
      {test::counting("a", 9), test::counting("b", 8), test::counting("c", 7)}, {"a != b", "b + c != 5"}));
  for (const std::string& name : strategy_names()) {
    for (const std::size_t batch : {1U, 3U, 64U}) {
      const auto strategy = make_strategy(name, space, 5);
      std::vector<std::uint64_t> all;
      while (!strategy->exhausted()) {
        const std::vector<std::uint64_t> proposals = strategy->ask(batch);
        ASSERT_FALSE(proposals.empty()) << name;
        ASSERT_LE(proposals.size(), batch) << name;
        for (const std::uint64_t index : proposals) {
          all.push_back(index);
          const bool fails = index % 5 == 0;
          strategy->tell(index, {fails ? Outcome::launch_error : Outcome::ok,
                                 fails ? std::nullopt : std::optional<double>(1.0 + static_cast<double>(index % 17))});
        }
      }
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, identity(space.size())) << name << " in batches of " << batch;
    }
  }
}

TEST(Strategy, EveryOneGoesOnWhereEverythingFails) {
  const SearchSpace space = space_of(120);
  for (const std::string& name : strategy_names()) {
    const auto strategy = make_strategy(name, space, 2);
    std::size_t count = 0;
    while (!strategy->exhausted()) {
      const auto proposals = strategy->ask(4);
      ASSERT_FALSE(proposals.empty()) << name;
      count += proposals.size();
      for (const std::uint64_t index : proposals) strategy->tell(index, {Outcome::compile_error, std::nullopt});
    }
    EXPECT_EQ(count, 120u) << name;
  }
}

TEST(Strategy, EqualTimesEverywhereAreNoTrouble) {
  const SearchSpace space = landscape_space();
  for (const std::string& name : strategy_names()) {
    const auto strategy = make_strategy(name, space, 2);
    std::set<std::uint64_t> seen;
    for (int n = 0; n < 150; ++n) {
      for (const std::uint64_t index : strategy->ask(1)) {
        EXPECT_TRUE(seen.insert(index).second);
        strategy->tell(index, {Outcome::ok, 7.0});
      }
    }
    EXPECT_EQ(seen.size(), 150u) << name;
  }
}

TEST(Strategy, TheSeedDecidesAndTheUnitOfTimeDoesNot) {
  const SearchSpace space = landscape_space();
  for (const std::string& name : strategy_names()) {
    const std::vector<std::uint64_t> proposals = run(name, space, 11, 120);
    EXPECT_EQ(proposals, run(name, space, 11, 120)) << name;
    EXPECT_EQ(proposals, run(name, space, 11, 120, 1e-3)) << name;
    EXPECT_EQ(proposals, run(name, space, 11, 120, 3.7e5)) << name;
    if (name != "exhaustive") {
      EXPECT_NE(proposals, run(name, space, 12, 120)) << name;
    }
  }
}

TEST(Strategy, LearningOnesBeatRandomSearch) {
  const SearchSpace space = landscape_space();
  const auto mean_best = [&](const std::string& name) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) sum += best_of(space, run(name, space, seed, 100));
    return sum / 20;
  };
  const double random = mean_best("random");
  for (const std::string name : {"local_search", "genetic", "differential_evolution", "surrogate", "auto"}) {
    EXPECT_LT(mean_best(name), random) << name;
  }
  EXPECT_LT(mean_best("auto"), 102);  // the optimum is 100, the next best 106
}

TEST(Strategy, WhatOthersTriedIsLearntAndNotProposed) {
  const SearchSpace space = landscape_space();
  for (const std::string& name : strategy_names()) {
    const auto strategy = make_strategy(name, space, 3);
    for (std::uint64_t index = 0; index < 40; ++index) {
      strategy->exclude(index);
      strategy->tell(index, landscape(space, index));
    }
    for (int n = 0; n < 100; ++n) {
      for (const std::uint64_t index : strategy->ask(1)) {
        EXPECT_GE(index, 40u) << name;
        strategy->tell(index, landscape(space, index));
      }
    }
  }
}

TEST(Strategy, ManyInFlight) {
  const SearchSpace space = landscape_space();
  for (const std::string& name : strategy_names()) {
    const auto strategy = make_strategy(name, space, 3);
    std::deque<std::uint64_t> untold;
    std::vector<std::uint64_t> all;
    while (all.size() < 150) {
      const auto proposals = strategy->ask(8);
      all.insert(all.end(), proposals.begin(), proposals.end());
      untold.insert(untold.end(), proposals.begin(), proposals.end());
      ASSERT_FALSE(untold.empty()) << name;
      strategy->tell(untold.front(), landscape(space, untold.front()));
      untold.pop_front();
    }
    EXPECT_EQ(std::set<std::uint64_t>(all.begin(), all.end()).size(), all.size()) << name;
  }
}

// What a compiler would say of the landscape: large tiles need local memory, the largest do not compile.
Foresight landscape_foresight(const SearchSpace& space, std::uint64_t index) {
  const Configuration configuration = space.configuration(index);
  const auto value = [&](const char* name) { return std::get<std::int64_t>(configuration.at(name)); };
  const std::int64_t tile = value("tx") * value("ty");
  if (tile > 40) return {Outcome::compile_error, {}};
  Foresight foresight;
  foresight.resources.spill_load_bytes = foresight.resources.spill_store_bytes = 4 * std::max<std::int64_t>(0, tile - 12);
  return foresight;
}

TEST(Strategy, WithForesightItBeginsWithWhatNeedsNoLocalMemory) {
  const SearchSpace space = landscape_space();
  for (const std::string name : {"surrogate", "auto"}) {
    const auto strategy = make_strategy(name, space, 5);
    strategy->use_foresight();
    std::set<std::uint64_t> foreseen;
    std::vector<std::uint64_t> proposed;
    while (proposed.size() < 40) {
      const auto asked = strategy->ask(1);
      if (asked.empty()) {
        const auto prospects = strategy->prospects();
        ASSERT_FALSE(prospects.empty()) << name;
        for (const std::uint64_t index : prospects) {
          EXPECT_TRUE(foreseen.insert(index).second) << name << " asks twice";
          strategy->foresee(index, landscape_foresight(space, index));
        }
        continue;
      }
      proposed.push_back(asked.front());
      strategy->tell(asked.front(), landscape(space, asked.front()));
    }
    EXPECT_LE(foreseen.size(), 30u) << name;
    ASSERT_GE(foreseen.size(), 10u) << name;
    std::size_t failing = 0;
    for (const std::uint64_t index : foreseen) failing += landscape_foresight(space, index).outcome == Outcome::ok ? 0 : 1;
    EXPECT_GT(failing, 0u) << "or this shows nothing";
    for (std::size_t n = 0; n < 10; ++n) {
      EXPECT_TRUE(foreseen.contains(proposed[n])) << name;
      EXPECT_EQ(landscape_foresight(space, proposed[n]).resources.spill_load_bytes, 0) << name;
    }
    for (const std::uint64_t index : proposed) {
      EXPECT_TRUE(!foreseen.contains(index) || landscape_foresight(space, index).outcome == Outcome::ok) << "known not to compile";
    }
    EXPECT_EQ(std::set<std::uint64_t>(proposed.begin(), proposed.end()).size(), proposed.size());
  }
}

TEST(Strategy, ForesightOfNothingButFailuresEnds) {
  const SearchSpace space = space_of(40);
  for (const std::string& name : strategy_names()) {
    const auto strategy = make_strategy(name, space, 5);
    strategy->use_foresight();
    std::set<std::uint64_t> seen;
    while (!strategy->exhausted()) {
      const auto asked = strategy->ask(3);
      for (const std::uint64_t index : asked) {
        EXPECT_TRUE(seen.insert(index).second) << name;
        strategy->tell(index, {Outcome::compile_error, std::nullopt});
      }
      const auto prospects = strategy->prospects();
      ASSERT_TRUE(!asked.empty() || !prospects.empty() || strategy->exhausted()) << name;
      for (const std::uint64_t index : prospects) {
        EXPECT_TRUE(seen.insert(index).second) << name;
        strategy->foresee(index, {Outcome::compile_error, {}});
      }
    }
    EXPECT_EQ(seen.size(), 40u) << name;
  }
}

TEST(Strategy, WithoutForesightNothingIsAskedFor) {
  const SearchSpace space = landscape_space();
  for (const std::string& name : strategy_names()) {
    const auto strategy = make_strategy(name, space, 5);
    EXPECT_FALSE(strategy->ask(4).empty());
    EXPECT_TRUE(strategy->prospects().empty());
  }
}

TEST(Strategy, SpacesOfATrillion) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 12; ++i) parameters.push_back(test::counting(std::string(1, static_cast<char>('a' + i)), 10));
  const SearchSpace space = SearchSpace::build(test::define(parameters));
  ASSERT_EQ(space.size(), 1'000'000'000'000u);
  for (const std::string& name : strategy_names()) {
    const auto strategy = make_strategy(name, space, 3);
    std::set<std::uint64_t> seen;
    double best = 1e9;
    for (int n = 0; n < 150; ++n) {
      for (const std::uint64_t index : strategy->ask(1)) {
        ASSERT_LT(index, space.size());
        EXPECT_TRUE(seen.insert(index).second) << name;
        double time = 1;
        for (std::uint64_t rest = index; rest > 0; rest /= 10) time += std::abs(static_cast<double>(rest % 10) - 4);
        best = std::min(best, time);
        strategy->tell(index, {Outcome::ok, time});
      }
    }
    EXPECT_FALSE(strategy->exhausted());
    if (name == "auto") {
      EXPECT_LT(best, 10) << "of 1 to 61, random search comes to some 15";
    }
  }
}

TEST(Strategy, SettingsAreChecked) {
  const SearchSpace space = space_of(4);
  EXPECT_NO_THROW(make_strategy("genetic", space, 0, {{"genetic.population", 5}, {"surrogate.initial", 3}}));
  const std::string message = test::message_of([&] { make_strategy("genetic", space, 0, {{"genetic.size", 5}}); });
  EXPECT_NE(message.find("has no setting \"size\"; it has: population"), std::string::npos) << message;
}

TEST(Strategy, UnknownNameGivesTheNearest) {
  const SearchSpace space = space_of(1);
  EXPECT_EQ(test::message_of([&] { make_strategy("randon", space, 0); }),
            "unknown strategy \"randon\", did you mean \"random\"?; there are: auto, exhaustive, random, local_search, genetic, "
            "differential_evolution, surrogate");
  EXPECT_THROW(make_strategy("", space, 0), InputError);
}

}  // namespace
}  // namespace tunebook
