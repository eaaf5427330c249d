#include "sweep/estimate.h"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "sweep/forecast.h"
#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

class EstimateTest : public ::testing::Test {
 protected:
  Estimate estimate(Action action = Action::tune, std::optional<std::uint64_t> space = {}, const std::string& of_session = "") const {
    const SessionIndex index(history);
    Decision decision;
    decision.action = action;
    decision.session = of_session;
    return Estimator(history, index).estimate(asked, {"hash-1", gpu().key(), "nvrtc 13.0; driver 580.1", "cold/2"}, decision, space);
  }
  // A session on n elements: 200 trials in `seconds`.
  SessionSummary& add(std::int64_t n, double seconds) {
    SessionSummary& added = history.sessions.emplace_back(session(item("add", add_problem(n)), kDay));
    added.wall_seconds = seconds;
    return added;
  }

  SweepItem asked = item("add", add_problem(4096));
  SessionHistory history;
};

TEST_F(EstimateTest, NoHistory) {
  const CostDefaults cuda = cost_defaults("cuda");
  EXPECT_DOUBLE_EQ(estimate().seconds, cuda.around_s + cuda.trial_s * 204);
  EXPECT_EQ(estimate().basis, "no history");
  EXPECT_DOUBLE_EQ(estimate().gain, Estimator::kGuessedGain);
  asked.device = "cpu";
  EXPECT_DOUBLE_EQ(estimate().seconds, cost_defaults("cpu").around_s + cost_defaults("cpu").trial_s * 204);
  EXPECT_DOUBLE_EQ(estimate(Action::retime).seconds, cost_defaults("cpu").around_s);
  EXPECT_EQ(estimate(Action::fresh), (Estimate{0, 0, "nothing to do"}));
}

TEST_F(EstimateTest, BudgetsWithoutHistory) {
  const CostDefaults cuda = cost_defaults("cuda");
  const auto trials = [&](const char* budget, std::optional<std::uint64_t> space = {}) {
    asked.settings.budget = budget;
    return (estimate(Action::tune, space).seconds - cuda.around_s) / cuda.trial_s - 4;
  };
  EXPECT_NEAR(trials("50"), 50, 1e-9);
  EXPECT_NEAR(trials("50", 30), 30, 1e-9);
  EXPECT_NEAR(trials("10%", 5000), 500, 1e-9);
  EXPECT_NEAR(trials("all", 5000), 5000, 1e-9);
  EXPECT_NEAR(trials("10%"), 100, 1e-9);  // of a guessed space
  EXPECT_NEAR(trials("auto"), 200, 1e-9);
  asked.settings.budget = "5m";
  EXPECT_DOUBLE_EQ(estimate().seconds, 300 + cuda.around_s);
}

TEST_F(EstimateTest, TheItemsOwnSearchesComeFirst) {
  add(4096, 30);
  add(4096, 50);
  add(4096, 40);
  add(4096, 9999).budget = "20000";
  EXPECT_DOUBLE_EQ(estimate().seconds, 40);
  EXPECT_EQ(estimate().basis, "3 sessions of this kind before");
}

TEST_F(EstimateTest, SecondsPerTrialOfTheNearestProblems) {
  for (int power = 0; power < 10; ++power) add(std::int64_t{1} << power, 20.0 * (power + 1));  // 0.1, 0.2, ... 1.0 s a trial
  // The five nearest to 4096 = 2^12 are 2^9 ... 2^5: 1.0, 0.9, 0.8, 0.7, 0.6 s.
  EXPECT_DOUBLE_EQ(estimate().seconds, 0.8 * 204);
  EXPECT_EQ(estimate().basis, "5 sessions of this kernel on this device");
  asked.settings.budget = "50";
  EXPECT_DOUBLE_EQ(estimate().seconds, 0.8 * 54);
}

TEST_F(EstimateTest, OtherDevicesAndKernelsWhereThereIsNothingNearer) {
  SessionSummary& elsewhere = add(64, 100);
  elsewhere.device = gpu("another");
  elsewhere.device_key = elsewhere.device.key();
  EXPECT_DOUBLE_EQ(estimate().seconds, 0.5 * 204);
  EXPECT_EQ(estimate().basis, "1 session of this kernel on other devices");
  history.sessions[0] = session(item("other", add_problem(64)), kDay);
  EXPECT_DOUBLE_EQ(estimate().seconds, 0.2 * 204);
  EXPECT_EQ(estimate().basis, "1 session of other kernels on this device");
}

TEST_F(EstimateTest, UnfinishedAndTimingSessionsTellNothingOfSearches) {
  add(64, 1e6).finished.reset();
  add(64, 3).strategy = kRetimeStrategy;
  EXPECT_EQ(estimate().basis, "no history");
  EXPECT_DOUBLE_EQ(estimate(Action::retime).seconds, 3);
  EXPECT_EQ(estimate(Action::retime).basis, "1 session that timed this kernel's winners on this device");
  history.sessions.back().kernel = "other";
  EXPECT_EQ(estimate(Action::retime).basis, "1 session that timed winners on this device");
}

TEST_F(EstimateTest, AutoAndSharesTakeWhatSuchBudgetsCameTo) {
  asked.settings.budget = "auto";
  SessionSummary& before = add(64, 30);
  before.budget = "auto";
  before.trials = 60;
  EXPECT_DOUBLE_EQ(estimate().seconds, 30);
}

TEST_F(EstimateTest, WhatIsDoneIsSubtracted) {
  SessionSummary& begun = add(4096, 12);
  begun.finished.reset();
  begun.trials = 102;
  const double whole = estimate().seconds;
  EXPECT_DOUBLE_EQ(estimate(Action::go_on, {}, begun.id).seconds, whole / 2);
  history.sessions.back().trials = 300;
  EXPECT_DOUBLE_EQ(estimate(Action::go_on, {}, history.sessions.back().id).seconds, whole * 0.05);
}

TEST_F(EstimateTest, GainsAreOrderedNeverStaleNearTimedFresh) {
  add(1 << 30, 40);  // far from what is asked: what the kernel's searches gain, 50 us against 100 us
  const double never = estimate().gain;
  EXPECT_DOUBLE_EQ(never, 0.5);
  add(8192, 40);  // a factor of two: near
  const double near = estimate().gain;
  EXPECT_DOUBLE_EQ(near, 0.5 * Estimator::kNearShare);
  add(4096, 40);
  const double stale = estimate().gain;
  EXPECT_DOUBLE_EQ(stale, 0.5 * Estimator::kStaleShare);
  EXPECT_GT(never, stale);
  EXPECT_GT(stale, near);
  EXPECT_GT(near, estimate(Action::retime).gain);
  EXPECT_GT(estimate(Action::retime).gain, 0);
  EXPECT_EQ(estimate(Action::fresh).gain, 0);
}

TEST_F(EstimateTest, AnotherTypeIsNotNear) {
  history.sessions.push_back(session(item("add", add_problem(4096, "f16")), kDay));
  EXPECT_DOUBLE_EQ(estimate().gain, 0.5);
}

TEST_F(EstimateTest, SearchingAgainIsWorthWhatItWasBefore) {
  add(4096, 40);
  for (const double standing : {50.0, 52.0, 55.0}) add(64, 40).standing_us = standing;
  EXPECT_DOUBLE_EQ(estimate().gain, 1 - 50.0 / 52);
  for (SessionSummary& one : history.sessions) one.standing_us = 50;
  EXPECT_DOUBLE_EQ(estimate().gain, Estimator::kRetimeGain);  // nothing was found again, but who knows
}

TEST_F(EstimateTest, ASearchThatLostGainsNothing) {
  add(64, 40).winner_us = 120;
  EXPECT_DOUBLE_EQ(estimate().gain, 0);
}

TEST(ProblemDistance, LogarithmsOfSizes) {
  EXPECT_DOUBLE_EQ(problem_distance(product_problem(8, 8, 8), product_problem(64, 16, 8)), std::sqrt(10.0));
  EXPECT_EQ(problem_distance(product_problem(8, 8, 8), product_problem(8, 8, 8)), 0);
  EXPECT_EQ(problem_distance(product_problem(8, 8, 8), product_problem(8, 8, 8, "f16")), std::numeric_limits<double>::infinity());
  EXPECT_EQ(problem_distance(add_problem(8), product_problem(8, 8, 8)), std::numeric_limits<double>::infinity());
}

TEST(Forecast, DevicesWorkAtTheSameTime) {
  std::vector<FrozenItem> items;
  const auto add = [&](const std::string& device, Action action, double seconds, double gain) {
    FrozenItem frozen;
    frozen.item = item("add", add_problem(static_cast<std::int64_t>(items.size()) + 1), device);
    frozen.decision.action = action;
    frozen.estimate = {seconds, gain, ""};
    items.push_back(frozen);
  };
  add("cuda:0", Action::tune, 100, 0.5);
  add("cuda:0", Action::tune, 50, 0.1);
  add("cuda:1", Action::tune, 120, 0.1);
  add("cuda:1", Action::fresh, 0, 0);
  add("replay:/a", Action::tune, 1, 0.1);
  add("replay:/b", Action::tune, 2, 0.1);
  const Forecast all = forecast(items, std::nullopt);
  EXPECT_EQ(all.device_seconds, (std::map<std::string, double>{{"cuda:0", 150}, {"cuda:1", 120}, {"replay", 3}}));
  EXPECT_DOUBLE_EQ(all.seconds, 150);
  EXPECT_DOUBLE_EQ(all.device_sum, 273);
  EXPECT_EQ(all.to_run, 5U);
  EXPECT_EQ(all.in_time, 5U);
  EXPECT_EQ(forecast(items, 110).in_time, 3U);
  EXPECT_EQ(forecast(items, 0).in_time, 0U);
  EXPECT_EQ(forecast({}, 0).to_run, 0U);
}

}  // namespace
}  // namespace tunebook::testing
