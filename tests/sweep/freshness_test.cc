#include "sweep/freshness.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

class FreshnessTest : public ::testing::Test {
 protected:
  static ItemContext context() { return {"hash-1", gpu().key(), "nvrtc 13.0; driver 580.1", "cold/2"}; }
  Decision decide_now(const ItemContext& now_context = context()) const {
    const SessionIndex index(history);
    return decide(asked, now_context, index, kNow, sweep_start);
  }
  SessionSummary& add(double age) { return history.sessions.emplace_back(session(asked, age)); }
  SessionSummary& add_timing(double age) {
    SessionSummary& timing = add(age);
    timing.strategy = kRetimeStrategy;
    timing.budget = "0";
    timing.trials = 1;
    timing.wall_seconds = 4;
    timing.winner_us = 51;
    return timing;
  }

  SweepItem asked = item("add", add_problem(4096));
  SessionHistory history;
  double sweep_start = kNow;
};

TEST_F(FreshnessTest, NeverTuned) {
  EXPECT_EQ(decide_now(), (Decision{Action::tune, "never tuned", false, "", ""}));
}

TEST_F(FreshnessTest, OthersWorkIsNotTheItems) {
  add(kDay).kernel = "other";
  add(kDay).problem = add_problem(4097);
  add(kDay).problem = add_problem(4096, "f16");
  add(kDay).device_key = gpu("another").key();
  add(kDay).method = "warm/2";
  add(kDay).method = "cold/2@1500MHz";
  add(kDay).objective = "energy";
  EXPECT_EQ(decide_now().reason, "never tuned");
}

TEST_F(FreshnessTest, TheDefaultRuleTimesTheWinnerInEverySweep) {
  const std::string id = add(3 * kHour).id;
  EXPECT_EQ(decide_now(), (Decision{Action::retime, "tuned 3 hours ago, the plan times again in every sweep", false, id, R"({"BM":32})"}));
}

TEST_F(FreshnessTest, WhatThisSweepDidIsFresh) {
  add(3 * kHour);
  sweep_start = kNow - 4 * kHour;
  EXPECT_EQ(decide_now(), (Decision{Action::fresh, "tuned 3 hours ago, in this sweep", false, "", R"({"BM":32})"}));
  history.sessions.clear();
  add(5 * kDay);
  add_timing(kHour);
  EXPECT_EQ(decide_now().reason, "timed 1 hour ago, in this sweep");
  // Also where the rule would tune it in every sweep.
  asked.settings.freshness.retune_after_days = 0;
  history.sessions.clear();
  add(3 * kHour);
  EXPECT_EQ(decide_now().action, Action::fresh);
}

TEST_F(FreshnessTest, TimesByAge) {
  asked.settings.freshness = {30, 7};
  add(6.9 * kDay);
  EXPECT_EQ(decide_now(), (Decision{Action::fresh, "tuned 6 days ago", false, "", R"({"BM":32})"}));
  history.sessions.back().finished = kNow - 7 * kDay;
  EXPECT_EQ(decide_now().reason, "tuned 7 days ago, the plan times again after 7 days");
  EXPECT_EQ(decide_now().action, Action::retime);
  const std::string timing = add_timing(2 * kDay).id;
  EXPECT_EQ(decide_now(), (Decision{Action::fresh, "timed 2 days ago", false, "", R"({"BM":32})"}));
  history.sessions.back().finished = kNow - 8 * kDay;  // before the search that is 7 days old: that one is the newest
  EXPECT_EQ(decide_now().reason, "tuned 7 days ago, the plan times again after 7 days");
  history.sessions.back().finished = kNow - 7 * kDay + 1;
  asked.settings.freshness.retime_after_days = 1;
  EXPECT_EQ(decide_now().session, timing);  // what is timed again is what a lookup answers with
}

TEST_F(FreshnessTest, NeverTimedAgain) {
  asked.settings.freshness = {30, std::nullopt};
  add(29 * kDay);
  EXPECT_EQ(decide_now(), (Decision{Action::fresh, "tuned 29 days ago", false, "", R"({"BM":32})"}));
}

TEST_F(FreshnessTest, TunedAgainByAgeOfTheSearch) {
  add(31 * kDay);
  add_timing(kDay);  // a timing makes no search younger
  EXPECT_EQ(decide_now(), (Decision{Action::tune, "tuned 31 days ago, the plan tunes again after 30 days", true, "", R"({"BM":32})"}));
  asked.settings.freshness.retune_after_days = std::nullopt;
  EXPECT_EQ(decide_now().action, Action::retime);
  asked.settings.freshness = {31, std::nullopt};
  EXPECT_EQ(decide_now().action, Action::tune);
}

TEST_F(FreshnessTest, ChangedKernelToolkitAndDriver) {
  add(kDay);
  ItemContext now = context();
  now.kernel_hash = "hash-2";
  EXPECT_EQ(decide_now(now), (Decision{Action::tune, "the kernel changed since it was tuned", false, "", ""}));
  now = context();
  now.toolchain = "nvrtc 13.0; driver 590.2";
  EXPECT_EQ(decide_now(now), (Decision{Action::tune, "the driver changed (580.1 -> 590.2)", false, "", R"({"BM":32})"}));
  now.toolchain = "nvrtc 13.1; driver 580.1";
  EXPECT_EQ(decide_now(now).reason, "the toolkit changed (nvrtc 13.0 -> nvrtc 13.1)");
  now.toolchain = "nvrtc 13.1; driver 590.2";
  EXPECT_EQ(decide_now(now).reason, "the toolkit changed (nvrtc 13.0 -> nvrtc 13.1) and the driver (580.1 -> 590.2)");
}

TEST_F(FreshnessTest, ADriverThatWasTakenBackFindsTheOldSearch) {
  asked.settings.freshness = {30, std::nullopt};
  add(2 * kDay);
  add(kDay).toolchain = "nvrtc 13.0; driver 590.2";
  EXPECT_EQ(decide_now(), (Decision{Action::fresh, "tuned 2 days ago", false, "", R"({"BM":32})"}));
}

TEST_F(FreshnessTest, OtherSettingsAreAnotherSearch) {
  add(kDay).budget = "20";
  EXPECT_EQ(decide_now(), (Decision{Action::tune, "tuned only with other settings than the plan's (strategy auto, budget 20)", false, "", R"({"BM":32})"}));
  history.sessions.clear();
  add(kDay).where = {"BLOCK >= 128"};
  EXPECT_EQ(decide_now().action, Action::tune);
  history.sessions.clear();
  add(kDay).strategy = "random";
  EXPECT_EQ(decide_now().action, Action::tune);
  history.sessions.clear();
  add(kDay).seed = 17;  // the same search with other random numbers
  EXPECT_EQ(decide_now().action, Action::retime);
}

TEST_F(FreshnessTest, AnotherSearchsTimesAreTimes) {
  asked.settings.freshness = {30, 2};
  add(5 * kDay);
  add(kDay).budget = "20";
  EXPECT_EQ(decide_now().reason, "timed 24 hours ago");
  EXPECT_EQ(decide_now().action, Action::fresh);
}

TEST_F(FreshnessTest, NoWinnerIsAnAnswerToo) {
  SessionSummary& search = add(kDay);
  search.winner.clear();
  search.winner_us.reset();
  EXPECT_EQ(decide_now(), (Decision{Action::fresh, "searched 24 hours ago: no configuration passed", false, "", ""}));
  search.finished = kNow - 40 * kDay;
  EXPECT_EQ(decide_now().action, Action::tune);
}

TEST_F(FreshnessTest, AnInterruptedSessionGoesOn) {
  SessionSummary& begun = add(0);
  begun.finished.reset();
  begun.winner.clear();
  begun.started = kNow - 10 * 60;
  begun.trials = 77;
  const std::string id = begun.id;
  EXPECT_EQ(decide_now(), (Decision{Action::go_on, "interrupted 10 minutes ago after 77 trials", false, id, ""}));
  // A search that was repeated because of its age: the old one must not be the answer.
  add(40 * kDay);
  EXPECT_EQ(decide_now(), (Decision{Action::go_on, "interrupted 10 minutes ago after 77 trials", true, id, R"({"BM":32})"}));
}

TEST_F(FreshnessTest, AnInterruptedSessionThatIsNotTheItemsOrIsOutdoneIsLeft) {
  SessionSummary& begun = add(0);
  begun.finished.reset();
  begun.winner.clear();
  begun.started = kNow - kDay;
  begun.seed = 5;
  EXPECT_EQ(decide_now().action, Action::tune);
  begun.seed = 0;
  begun.toolchain = "nvrtc 12.9; driver 580.1";
  EXPECT_EQ(decide_now().action, Action::tune);
  begun.toolchain = context().toolchain;
  EXPECT_EQ(decide_now().action, Action::go_on);
  add(kHour);
  EXPECT_EQ(decide_now().action, Action::retime);
}

// As a lookup and `tune` decide it, whichever of the two began first.
TEST_F(FreshnessTest, OfTwoThatEndedAtOneMomentTheSmallerIdCounts) {
  for (const bool swapped : {false, true}) {
    history.sessions.clear();
    for (const int i : {0, 1}) {
      SessionSummary& one = add(kDay);
      one.started -= i;
      one.id = (i == 0) == swapped ? "a" : "b";
      one.winner = (i == 0) == swapped ? R"({"BM":16})" : R"({"BM":64})";
    }
    EXPECT_EQ(decide_now().standing_winner, R"({"BM":16})");
  }
}

TEST_F(FreshnessTest, AClockThatWasSetBackMakesNothingOld) {
  asked.settings.freshness = {0.5, 0.25};
  add(-kDay);
  sweep_start = kNow + 2 * kDay;
  EXPECT_EQ(decide_now(), (Decision{Action::fresh, "tuned 0 seconds ago", false, "", R"({"BM":32})"}));
}

TEST_F(FreshnessTest, AnUnknownDeviceHasNoHistory) {
  add(kDay);
  EXPECT_EQ(decide_now({"hash-1", "", "", ""}).reason, "never tuned");
}

TEST(AgeText, Units) {
  EXPECT_EQ(age_text(0), "0 seconds");
  EXPECT_EQ(age_text(1.9), "1 second");
  EXPECT_EQ(age_text(59.9), "59 seconds");
  EXPECT_EQ(age_text(60), "1 minute");
  EXPECT_EQ(age_text(3 * kHour), "3 hours");
  EXPECT_EQ(age_text(47.9 * kHour), "47 hours");
  EXPECT_EQ(age_text(48 * kHour), "2 days");
}

}  // namespace
}  // namespace tunebook::testing
