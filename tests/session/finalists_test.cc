#include "session/finalists.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

Configuration configuration(int value) {
  Configuration result;
  result.set("X", std::int64_t{value});
  return result;
}

TrialRecord trial(int value, double median_us, std::int64_t registers = 32, std::int64_t shared = 0) {
  TrialRecord record;
  record.order = value;
  record.configuration = configuration(value);
  record.median_us = median_us;
  record.resources.registers = registers;
  record.resources.shared_static_bytes = shared;
  return record;
}

TEST(ChooseFinalists, TakesTheFastestThatAreOkInOrder) {
  std::vector<TrialRecord> trials = {trial(0, 5), trial(1, 3), trial(2, 1), trial(3, 3.6), trial(4, 3)};
  trials[2].outcome = Outcome::abandoned;
  const auto chosen = choose_finalists(trials, 8, Objective::time);
  ASSERT_EQ(chosen.size(), 3u);   // 5 is more than a quarter above 3
  EXPECT_EQ(chosen[0].order, 1);  // equal medians: the earlier proposal first
  EXPECT_EQ(chosen[1].order, 4);
  EXPECT_EQ(chosen[2].order, 3);
  EXPECT_EQ(choose_finalists(trials, 2, Objective::time).size(), 2u);
}

TEST(ChooseFinalists, TakesWhoeverIsNearBeyondTheCount) {
  std::vector<TrialRecord> trials;
  for (int i = 0; i < 40; ++i) trials.push_back(trial(i, 100 + 0.1 * i));  // 100.0 to 101.0: eleven within 1 %
  const auto chosen = choose_finalists(trials, 8, Objective::time);
  ASSERT_EQ(chosen.size(), 11u);
  EXPECT_EQ(chosen.back().order, 10);
  EXPECT_EQ(choose_finalists(trials, 20, Objective::time).size(), 20u);
  for (TrialRecord& each : trials) each.median_us = 100;
  EXPECT_EQ(choose_finalists(trials, 8, Objective::time).size(), kMostFinalists);
}

TEST(ChooseFinalists, ByEnergyOnlyThoseThatHaveOne) {
  std::vector<TrialRecord> trials = {trial(0, 1), trial(1, 2), trial(2, 3)};
  trials[1].energy_j = 0.5;
  trials[2].energy_j = 0.4;
  const auto chosen = choose_finalists(trials, 8, Objective::energy);
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0].order, 2);
}

TEST(DecideWinner, ByEnergyTheFrugalOneWins) {
  Finalist fast{configuration(0), {1.0, 1.0, 1.0}, {0.9, 0.9, 0.9}};
  Finalist frugal{configuration(1), {2.0, 2.0, 2.0}, {0.5, 0.6, 0.5}};
  Finalist unmeasured{configuration(2), {0.5, 0.5, 0.5}, {}};
  const auto winner = decide_winner({fast, frugal, unmeasured}, {trial(0, 1), trial(1, 2), trial(2, 1)}, Objective::energy);
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->configuration, configuration(1));
  EXPECT_EQ(winner->objective, "energy");
  EXPECT_DOUBLE_EQ(*winner->energy_j, 0.5);
  EXPECT_DOUBLE_EQ(winner->median_us, 2.0);
  EXPECT_EQ(winner->finalists.size(), 2u);
}

TEST(DecideWinner, TheClearlyFastestStandsAlone) {
  const std::vector<TrialRecord> trials = {trial(0, 10, 16), trial(1, 9, 255)};
  const auto winner = decide_winner({{configuration(0), {10.0, 10.1, 10.05}}, {configuration(1), {9.0, 9.1, 9.05}}}, trials, Objective::time);
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->configuration, configuration(1));
  EXPECT_EQ(winner->tie_set_size(), 1);
  EXPECT_DOUBLE_EQ(winner->median_us, 9.05);
  EXPECT_DOUBLE_EQ(winner->ci_low_us, 9.0);
  EXPECT_DOUBLE_EQ(winner->ci_high_us, 9.1);
}

TEST(DecideWinner, AmongTiesTheLeanestWins) {
  const std::vector<TrialRecord> trials = {trial(0, 10.0, 64), trial(1, 10.01, 32, 4096), trial(2, 10.02, 32, 1024)};
  const auto winner = decide_winner({{configuration(0), {10.00, 10.02, 10.01, 10.03}},
                                     {configuration(1), {10.02, 10.01, 10.02, 10.03}},
                                     {configuration(2), {10.03, 10.01, 10.03, 10.02}}},
                                    trials, Objective::time);
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->tie_set_size(), 3);
  EXPECT_EQ(winner->configuration, configuration(2));  // fewest registers, then least shared memory
  EXPECT_EQ(winner->finalists[1].configuration, configuration(1));
  EXPECT_EQ(winner->finalists[2].configuration, configuration(0));
}

TEST(DecideWinner, ANoisyButSlowerMedianIsNoTie) {
  // The ratio's interval is wide, but the median lies 2 % above.
  const auto winner = decide_winner({{configuration(0), {10.0, 10.0, 10.0}}, {configuration(1), {10.2, 9.0, 12.0}}},
                                    {trial(0, 10), trial(1, 10)}, Objective::time);
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->tie_set_size(), 1);
}

TEST(DecideWinner, EqualResourcesFallBackToTheCanonicalText) {
  const std::vector<Finalist> finalists = {{configuration(7), {1.0, 1.0, 1.0}}, {configuration(3), {1.0, 1.0, 1.0}}};
  const auto winner = decide_winner(finalists, {trial(3, 1), trial(7, 1)}, Objective::time);
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->configuration, configuration(3));
}

TEST(DecideWinner, CandidatesThatFailedAreLeftOutAndNoneGivesNone) {
  const auto winner = decide_winner({{configuration(0), {}}, {configuration(1), {2.0, 2.0}}}, {trial(0, 1), trial(1, 2)}, Objective::time);
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->configuration, configuration(1));
  EXPECT_FALSE(decide_winner({{configuration(0), {}}}, {trial(0, 1)}, Objective::time));
}

WinnerRecord winner_with(std::vector<double> medians) {
  WinnerRecord winner;
  winner.finalists.emplace_back().process_medians_us = std::move(medians);
  return winner;
}

TEST(BaselineRatioOf, IsPairedByProcess) {
  BaselineRecord baseline;
  baseline.process_medians_us = {20, 44, 30};
  const auto ratio = baseline_ratio(baseline, winner_with({10, 20, 15}));
  ASSERT_TRUE(ratio && ratio->interval);
  // Logarithms of 2, 2.2, 2: mean ln 2 + ln(1.1) / 3; standard deviation ln(1.1) / sqrt 3; t(0.975, 2) = 4.302653.
  EXPECT_NEAR(ratio->ratio, 2.0645602309, 1e-9);
  EXPECT_NEAR(ratio->interval->first, 2.0645602309 * std::exp(-4.302652730 * std::log(1.1) / 3), 1e-8);
  EXPECT_NEAR(ratio->interval->second, 2.0645602309 * std::exp(4.302652730 * std::log(1.1) / 3), 1e-8);
}

TEST(BaselineRatioOf, HasNoIntervalFromOneProcessAndNothingWithoutTimes) {
  BaselineRecord baseline;
  EXPECT_FALSE(baseline_ratio(baseline, winner_with({10})));
  baseline.process_medians_us = {15};
  const auto ratio = baseline_ratio(baseline, winner_with({10}));
  ASSERT_TRUE(ratio);
  EXPECT_DOUBLE_EQ(ratio->ratio, 1.5);
  EXPECT_FALSE(ratio->interval);
  EXPECT_FALSE(baseline_ratio(baseline, winner_with({})));
  EXPECT_FALSE(baseline_ratio(baseline, WinnerRecord()));
}

}  // namespace
}  // namespace tunebook
