#include "search/score.h"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "search_fixtures.h"

namespace tunebook {
namespace {

using test::TemporaryFolder;

// Configurations a = 0 ... timed - 1 that take a + 1 ms; of those after them, up to all - 1, none compiles.
Recording ramp(const TemporaryFolder& folder, int all = 100, int timed = 100) {
  std::string values;
  std::string rows = "a,time_ms,status\n";
  for (int a = 0; a < all; ++a) {
    values += fmt::format("{}{}", a == 0 ? "" : ", ", a);
    rows += a < timed ? fmt::format("{},{},ok\n", a, a + 1) : fmt::format("{},,compile_error\n", a);
  }
  folder.write("ramp.json", fmt::format(R"({{"parameters": {{"a": [{}]}}, "constraints": null}})", values));
  folder.write("ramp.csv", rows);
  return Recording::load(folder.path() / "ramp.json");
}

TEST(ScoredSpace, BudgetAndBaselineByHand) {
  const TemporaryFolder folder;
  const ScoredSpace space(ramp(folder));
  // Optimum 1, median 50.5: within 5 % of the way to the median are 1, 2, 3, so i = 97 and F = ceil(97 / 4).
  EXPECT_EQ(space.budget(), 25u);
  // Within 99 %, 50.005, are 1 ... 50: F = ceil(50 / 51).
  EXPECT_EQ(space.start(), 1u);
  EXPECT_DOUBLE_EQ(space.optimum(), 1e3);
  EXPECT_DOUBLE_EQ(space.median_time(), 50.5e3);
  EXPECT_DOUBLE_EQ(space.baseline(1), 49e3);   // d[round(101 / 2)] = 100 - 51
  EXPECT_DOUBLE_EQ(space.baseline(9), 9e3);    // d[round(909 / 10)]
  EXPECT_DOUBLE_EQ(space.baseline(1000), 1e3);
  EXPECT_EQ(space.rank(0), 0u);
  EXPECT_EQ(space.rank(42), 42u);
}

TEST(ScoredSpace, FailuresStretchTheBudget) {
  const TemporaryFolder folder;
  const ScoredSpace space(ramp(folder, 200));
  EXPECT_EQ(space.valid(), 200u);
  EXPECT_EQ(space.timed(), 100u);
  EXPECT_EQ(space.budget(), 50u);
  EXPECT_DOUBLE_EQ(space.baseline(2), 49e3);
  EXPECT_EQ(space.rank(150), 100u);
  EXPECT_EQ(space.observe(150).outcome, Outcome::compile_error);
  EXPECT_FALSE(space.observe(150).value);
  EXPECT_DOUBLE_EQ(space.observe(7).value.value(), 8e3);
}

TEST(Score, FindingTheOptimumAtOnceIsOne) {
  const TemporaryFolder folder;
  const ScoredSpace space(ramp(folder));
  const auto strategy = make_strategy("exhaustive", space.space(), 0);
  const std::vector<Trajectory> runs = {run_strategy(*strategy, space, 100, 1)};
  EXPECT_EQ(runs[0].evaluations, 1u);
  const StrategyScore score = score_strategy("exhaustive", space, runs);
  EXPECT_DOUBLE_EQ(score.performance.value, 1);
  EXPECT_DOUBLE_EQ(score.evaluations_to_5_percent.value(), 1);
  EXPECT_DOUBLE_EQ(score.best_over_optimum[0].second.value, 1);
}

TEST(Score, PerformanceByHand) {
  const TemporaryFolder folder;
  const ScoredSpace space(ramp(folder));
  Trajectory first;
  first.steps = {{1, 60}, {5, 10}};
  Trajectory second;
  second.steps = {{1, 40}, {11, 0}};
  double sum = 0;
  for (std::uint64_t k = 1; k <= 25; ++k) {
    const double mean_rank = ((k < 5 ? 60 : 10) + (k < 11 ? 40 : 0)) / 2.0;
    const double found = (std::round(mean_rank) + 1) * 1e3;
    sum += (space.baseline(k) - found) / (space.baseline(k) - 1e3);
  }
  EXPECT_NEAR(performance(space, {&first, &second}), sum / 25, 1e-12);
}

TEST(Score, RandomSearchScoresAboutZero) {
  const TemporaryFolder folder;
  // Large enough that the rounding of ranks does not matter.
  const ScoredSpace space(ramp(folder, 4000, 4000));
  std::vector<Trajectory> runs;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto strategy = make_strategy("random", space.space(), seed);
    runs.push_back(run_strategy(*strategy, space, score_horizon(space), 1));
  }
  const StrategyScore score = score_strategy("random", space, runs);
  EXPECT_NEAR(score.performance.value, 0, 0.1);
  EXPECT_LE(score.performance.low, score.performance.value);
  EXPECT_GE(score.performance.high, score.performance.value);
  EXPECT_EQ(score.horizon, 500u);
}

TEST(Score, NeverWithinFivePercentIsSaid) {
  const TemporaryFolder folder;
  const ScoredSpace space(ramp(folder));
  Trajectory run;
  run.steps = {{1, 30}};
  run.evaluations = 50;
  const StrategyScore score = score_strategy("some", space, {run, run, run});
  EXPECT_FALSE(score.evaluations_to_5_percent);
  EXPECT_DOUBLE_EQ(score.best_over_optimum[3].second.value, 31);
}

TEST(Score, MeansLeaveTinySpacesOut) {
  StrategyScore large;
  large.strategy = "auto";
  large.budget = 100;
  large.performance = {0.8, 0.7, 0.9};
  large.evaluations_to_5_percent = 30;
  for (const std::uint64_t mark : {50, 100, 200, 500}) large.best_over_optimum.emplace_back(mark, ScoreEstimate{1.1, 1.05, 1.15});
  StrategyScore other = large;
  other.performance.value = 0.4;
  other.evaluations_to_5_percent.reset();
  StrategyScore tiny = large;
  tiny.budget = kLeastBudget - 1;
  tiny.performance.value = -5;
  const std::vector<StrategyMean> means = mean_scores({large, other, tiny});
  ASSERT_EQ(means.size(), 1u);
  EXPECT_EQ(means[0].spaces, 2u);
  EXPECT_DOUBLE_EQ(means[0].performance.value, 0.6);
  EXPECT_FALSE(means[0].evaluations_to_5_percent);
}

// Proposes the same index for ever.
class Stubborn final : public Strategy {
 public:
  std::vector<std::uint64_t> ask(std::size_t) override { return {3}; }
  void tell(std::uint64_t, const Observation&) override {}
  bool exhausted() const override { return false; }
  void exclude(std::uint64_t) override {}
};

TEST(Score, ARepeatingStrategyIsRefused) {
  const TemporaryFolder folder;
  const ScoredSpace space(ramp(folder));
  Stubborn strategy;
  EXPECT_THROW(run_strategy(strategy, space, 10, 1), std::logic_error);
}

}  // namespace
}  // namespace tunebook
