#include "session/finalists.h"

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
  const auto chosen = choose_finalists(trials, 8);
  ASSERT_EQ(chosen.size(), 3u);   // 5 is more than a quarter above 3
  EXPECT_EQ(chosen[0].order, 1);  // equal medians: the earlier proposal first
  EXPECT_EQ(chosen[1].order, 4);
  EXPECT_EQ(chosen[2].order, 3);
  EXPECT_EQ(choose_finalists(trials, 2).size(), 2u);
}

TEST(DecideWinner, TheClearlyFastestStandsAlone) {
  const std::vector<TrialRecord> trials = {trial(0, 10, 16), trial(1, 9, 255)};
  const auto winner = decide_winner({{configuration(0), {10.0, 10.1, 10.05}}, {configuration(1), {9.0, 9.1, 9.05}}}, trials);
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
                                    trials);
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->tie_set_size(), 3);
  EXPECT_EQ(winner->configuration, configuration(2));  // fewest registers, then least shared memory
  EXPECT_EQ(winner->finalists[1].configuration, configuration(1));
  EXPECT_EQ(winner->finalists[2].configuration, configuration(0));
}

TEST(DecideWinner, ANoisyButSlowerMedianIsNoTie) {
  // The ratio's interval is wide, but the median lies 2 % above.
  const auto winner = decide_winner({{configuration(0), {10.0, 10.0, 10.0}}, {configuration(1), {10.2, 9.0, 12.0}}},
                                    {trial(0, 10), trial(1, 10)});
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->tie_set_size(), 1);
}

TEST(DecideWinner, EqualResourcesFallBackToTheCanonicalText) {
  const std::vector<Finalist> finalists = {{configuration(7), {1.0, 1.0, 1.0}}, {configuration(3), {1.0, 1.0, 1.0}}};
  const auto winner = decide_winner(finalists, {trial(3, 1), trial(7, 1)});
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->configuration, configuration(3));
}

TEST(DecideWinner, CandidatesThatFailedAreLeftOutAndNoneGivesNone) {
  const auto winner = decide_winner({{configuration(0), {}}, {configuration(1), {2.0, 2.0}}}, {trial(0, 1), trial(1, 2)});
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->configuration, configuration(1));
  EXPECT_FALSE(decide_winner({{configuration(0), {}}}, {trial(0, 1)}));
}

}  // namespace
}  // namespace tunebook
