// Regions are covered round by round: what is chosen, when it ends, and that it goes on alike.
#include "sweep/cover_run.h"

#include <algorithm>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

using Lines = std::vector<std::string>;

// A book that holds nothing but which sizes have a winner, and a model once there are three.
class CoverRunTest : public ::testing::Test {
 protected:
  CoverRunTest() {
    region_.item = item("add", add_problem(1), "cpu");
    region_.dimensions = {{"n", 1, 1 << 16, {}, false}};
    region_.target_loss = 0.02;
  }

  CoverKnowledge knowledge() const {
    CoverKnowledge result;
    for (const std::int64_t n : tuned_) result.tuned.push_back({n});
    if (tuned_.size() >= 3)
      result.loss = {{1, 0.05, 0.1, 0.1, 8},
                     {std::numeric_limits<double>::infinity(), 0.2, 0.3, 0.3, 8}};
    return result;
  }

  CoverPlanner planner() {
    return {{region_},
            [this](const CoverRegion&, const std::vector<CoverQuestion>&) { return knowledge(); }};
  }

  // A round: every item that is pending gets its winner, or what `status` says.
  CoverRun runner(SweepState& state, ItemStatus status = ItemStatus::done) {
    CoverRun run;
    run.run = [this, &state, status] {
      ++rounds_;
      for (const std::size_t index : state.order) {
        if (state.items[index].status != ItemStatus::pending) continue;
        const std::int64_t n = std::get<std::int64_t>(state.plan.items[index].item.problem.at("n"));
        state.items[index].status = status;
        if (status == ItemStatus::done) tuned_.insert(n);
        chosen_.push_back(n);
      }
      state.ended = true;
      return rounds_ >= stop_at_ ? SweepEnd::interrupted : SweepEnd::complete;
    };
    run.prepare = [](const SweepItem& one) {
      FrozenItem frozen;
      frozen.item = one;
      frozen.decision.action = Action::tune;
      return frozen;
    };
    run.save = [this, &state] {
      EXPECT_FALSE(state.ended);
      saved_ =
          SweepState::from_json(nlohmann::ordered_json::parse(state.to_json().dump()), "state");
    };
    run.event = [this](const std::string& text) { events_.push_back(text); };
    return run;
  }

  static SweepState empty_state() { return SweepState::begin(FrozenPlan(), {}, kNow); }

  CoverRegion region_;
  std::set<std::int64_t> tuned_;
  std::vector<std::int64_t> chosen_;
  std::optional<SweepState> saved_;
  Lines events_;
  int rounds_ = 0, stop_at_ = 1 << 20;
};

TEST_F(CoverRunTest, EndsWhenTheRegionIsExpectedToLoseLessThanTheTarget) {
  SweepState state = empty_state();
  CoverPlanner plans = planner();
  EXPECT_EQ(cover_regions(state, plans, runner(state)), SweepEnd::complete);
  const RegionProgress& progress = plans.progress().at(0);
  EXPECT_TRUE(progress.covered);
  EXPECT_TRUE(progress.model);
  EXPECT_LT(progress.now, 0.02);
  EXPECT_NEAR(progress.before, CoverChoice::kUnknownLoss, 1e-9);
  EXPECT_EQ(progress.tuned, chosen_.size());
  EXPECT_EQ(state.items.size(), chosen_.size());
  // Shapes 1.4 times apart would do: 16 octaves, twice.
  EXPECT_GT(chosen_.size(), 8U);
  EXPECT_LT(chosen_.size(), 32U);
  EXPECT_EQ(events_.size(), chosen_.size());
  EXPECT_EQ(events_.at(0).find("chosen: add n="), 0U) << events_.at(0);
  EXPECT_NE(summary_text(state, SweepEnd::complete).find("region add f32 on cpu: n 1..65536: "),
            std::string::npos);
  EXPECT_EQ(summary_json(state, SweepEnd::complete, "book", "now")["regions"][0]["covered"], true);

  // The same again: nothing is left to do.
  SweepState again = empty_state();
  CoverPlanner more = planner();
  const std::size_t before = chosen_.size();
  EXPECT_EQ(cover_regions(again, more, runner(again)), SweepEnd::complete);
  EXPECT_EQ(chosen_.size(), before);
}

TEST_F(CoverRunTest, OneThatWasKilledGoesOnAlike) {
  SweepState whole = empty_state();
  CoverPlanner plans = planner();
  cover_regions(whole, plans, runner(whole));
  const std::vector<std::int64_t> undisturbed = chosen_;

  tuned_.clear();
  chosen_.clear();
  rounds_ = 0;
  stop_at_ = 5;
  SweepState begun = empty_state();
  CoverPlanner first = planner();
  EXPECT_EQ(cover_regions(begun, first, runner(begun)), SweepEnd::interrupted);
  ASSERT_TRUE(saved_);
  // The last round's shape was chosen, and saved before it was run: the book has not heard of it.
  tuned_.erase(chosen_.back());
  chosen_.pop_back();
  stop_at_ = 1 << 20;
  SweepState resumed = *saved_;
  CoverPlanner second = planner();
  EXPECT_EQ(cover_regions(resumed, second, runner(resumed)), SweepEnd::complete);
  EXPECT_EQ(chosen_, undisturbed);
  EXPECT_NEAR(second.progress().at(0).before, CoverChoice::kUnknownLoss, 1e-9);
  EXPECT_EQ(second.progress().at(0).tuned, undisturbed.size());
}

TEST_F(CoverRunTest, WhatFailsIsNotChosenAgainAndEndsAfterThreeRounds) {
  SweepState state = empty_state();
  CoverPlanner plans = planner();
  EXPECT_EQ(cover_regions(state, plans, runner(state, ItemStatus::failed)), SweepEnd::complete);
  EXPECT_EQ(chosen_.size(), 3U);
  EXPECT_EQ(std::set<std::int64_t>(chosen_.begin(), chosen_.end()).size(), 3U);
  EXPECT_FALSE(plans.progress().at(0).covered);
  EXPECT_EQ(sweep_exit_code(state, SweepEnd::complete), 1);
}

TEST_F(CoverRunTest, EndsWithTheMostShapesThatOneSweepTunes) {
  region_.most_shapes = 4;
  SweepState state = empty_state();
  CoverPlanner plans = planner();
  EXPECT_EQ(cover_regions(state, plans, runner(state)), SweepEnd::complete);
  EXPECT_EQ(chosen_.size(), 4U);
  EXPECT_EQ(planner().next(9, {}).size(), 4U);
}

TEST_F(CoverRunTest, SeveralAtOnceAreFarFromEachOther) {
  CoverPlanner plans = planner();
  const auto decisions = plans.next(4, {});
  ASSERT_EQ(decisions.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto n = [&](std::size_t k) {
        return static_cast<double>(std::get<std::int64_t>(decisions[k].item.problem.at("n")));
      };
      EXPECT_GT(std::abs(std::log2(n(i) / n(j))), 1.5);
    }
  }
  EXPECT_TRUE(plans.next(0, {}).empty());
}

TEST_F(CoverRunTest, AnEighthOfWhatIsTunedAtOnce) {
  for (std::int64_t n = 1; n <= 24; ++n) tuned_.insert(n);
  EXPECT_EQ(planner().next(1, {}).size(), 3U);
  EXPECT_EQ(planner().next(5, {}).size(), 5U) << "devices that would wait";
  region_.most_shapes = 2;
  EXPECT_EQ(planner().next(1, {}).size(), 2U);
  EXPECT_TRUE(planner().next(0, {}).empty());
}

TEST_F(CoverRunTest, OfTwoRegionsTheOneWithMoreToGainComesFirst) {
  CoverRegion other = region_;
  other.item.device = "cuda:0";
  other.item.settings.priority = 3;
  CoverPlanner plans(
      {region_, other},
      [this](const CoverRegion&, const std::vector<CoverQuestion>&) { return knowledge(); });
  EXPECT_EQ(plans.next(1, {}).at(0).region, 1U);
}

TEST_F(CoverRunTest, ADamagedProgressIsPassedOver) {
  CoverPlanner plans = planner();
  for (const char* text :
       {"null", "[]", "[{}]", "[{\"before\": \"x\", \"tuned\": 1}]", "[1]", "{\"a\": 1}"}) {
    const auto json = nlohmann::ordered_json::parse(text);
    plans.take_up(json);
    EXPECT_EQ(regions_text(json), "") << text;
  }
  EXPECT_EQ(plans.progress().at(0).tuned, 0U);
}

}  // namespace
}  // namespace tunebook::testing
