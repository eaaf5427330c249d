// The decision alone: what is timed how often, and what is chosen.

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/template_folder.h"
#include "launch/refinement.h"

namespace tunebook::testing {
namespace {

class Numbered : public LoadedLaunch {
 public:
  explicit Numbered(std::size_t number) : number_(number) {}
  void launch(void**, CUstream_st*) const override {}
  std::size_t number() const { return number_; }

 private:
  std::size_t number_;
};

// Each candidate takes `us`, and as much again around its launch; `wrong_from`: from which of its runs on it is wrong.
class Table : public LaunchCopies {
 public:
  explicit Table(std::vector<double> us) : us_(std::move(us)), wrong_from(us_.size(), 1000000), runs(us_.size(), 0) {}
  Run run(const LoadedLaunch& launch) override {
    last_ = dynamic_cast<const Numbered&>(launch).number();
    ++runs[last_];
    spent_us += 2 * us_[last_];
    return {us_[last_], 2 * us_[last_]};
  }
  void keep_results() override { ++kept; }
  std::string difference() override { return runs[last_] >= wrong_from[last_] ? "differs" : ""; }

 private:
  std::vector<double> us_;
  std::size_t last_ = 0;

 public:
  std::vector<int> wrong_from, runs;
  int kept = 0;
  double spent_us = 0;
};

std::vector<std::shared_ptr<const LoadedLaunch>> numbered(std::size_t count) {
  std::vector<std::shared_ptr<const LoadedLaunch>> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(std::make_shared<Numbered>(i));
  return all;
}

TEST(Refinement, ChoosesTheFastestOfAll) {
  Table table({10, 8, 6, 9});
  const Refinement refined = refine(table, numbered(4), {1, 5, {}});
  EXPECT_EQ(refined.chosen, 2U);
  EXPECT_EQ(refined.obstacle, "");
  EXPECT_EQ(table.kept, 1);
  EXPECT_EQ(table.runs, (std::vector<int>{7, 6, 6, 6}));
  EXPECT_EQ(refined.times[3].samples_us.size(), 5U);
  EXPECT_DOUBLE_EQ(refined.gpu_seconds, table.spent_us * 1e-6);
}

TEST(Refinement, ASmallGainIsNoise) {
  Table table({10, 9.95});
  EXPECT_EQ(refine(table, numbered(2), {1, 5, {}}).chosen, 0U);
}

TEST(Refinement, OneThatTurnsWrongLaterIsNotChosen) {
  Table table({10, 6, 9});
  table.wrong_from[1] = 4;
  const Refinement refined = refine(table, numbered(3), {1, 7, {}});
  EXPECT_EQ(refined.chosen, 2U);
  EXPECT_EQ(refined.times[1].outcome, Outcome::wrong_result);
}

TEST(Refinement, IfTheOneAtHandDiffersFromItselfNothingIsDecided) {
  for (const int from : {2, 5}) {
    Table table({10, 1});
    table.wrong_from[0] = from;
    const Refinement refined = refine(table, numbered(2), {1, 7, {}});
    EXPECT_EQ(refined.chosen, 0U);
    EXPECT_EQ(refined.obstacle, "runs of the configuration at hand differ: differs");
    EXPECT_EQ(refined.times[0].outcome, Outcome::nondeterministic);
  }
}

TEST(Refinement, MuchSlowerOnesAreSampledOnce) {
  Table table({10, 100, 9});
  const Refinement refined = refine(table, numbered(3), {1, 7, {}});
  EXPECT_EQ(refined.times[1].outcome, Outcome::abandoned);
  EXPECT_EQ(refined.times[1].samples_us.size(), 1U);
  EXPECT_EQ(refined.chosen, 2U);
}

TEST(Refinement, TheBudgetIsKept) {
  for (double seconds = 1e-6; seconds < 2e-3; seconds *= 1.3) {
    Table table({10, 40, 8, 25});
    const Refinement refined = refine(table, numbered(4), {seconds, 7, {}});
    EXPECT_LE(table.spent_us, std::max(seconds * 1e6, 20.0) + 80) << seconds;  // one launch of unknown length at most
    if (refined.chosen != 0) {
      EXPECT_GE(refined.times[refined.chosen].samples_us.size(), 3U);
    }
  }
  Table table({10, 5});
  EXPECT_NE(refine(table, numbered(2), {30e-6, 7, {}}).obstacle.find("seconds were used up"), std::string::npos);
}

TEST(Refinement, StopsWhenAsked) {
  Table table({10, 5});
  int asked = 0;
  const Refinement refined = refine(table, numbered(2), {1, 7, [&] { return ++asked > 4; }});
  EXPECT_EQ(refined.chosen, 0U);
  EXPECT_LE(table.runs[0] + table.runs[1], 4);
}

TEST(Refinement, WhatWasNotLoadedIsPassedOver) {
  auto candidates = numbered(3);
  candidates[1] = nullptr;
  Table table({10, 1, 8});
  const Refinement refined = refine(table, candidates, {1, 7, {}});
  EXPECT_EQ(refined.chosen, 2U);
  EXPECT_FALSE(refined.times[1].tried);
}

// smooth: y (out), sum (out, f64), x (in), n, steps; a workspace and a launch's number are the library's.
TEST(CopyPlan, HasWhatTheApplicationGives) {
  const KernelTemplate kernel = load_template(TUNEBOOK_SOURCE_DIR "/tests/data/user_kernels/smooth");
  const Problem problem = kernel.spec.parse_shape("1000,5");
  const CopyPlan plan = copy_plan(kernel.spec, problem, KernelSpec::generic_device(), false);
  ASSERT_EQ(plan.arguments.size(), 5U);
  EXPECT_TRUE(plan.arguments[0].written && !plan.arguments[0].read);
  EXPECT_EQ(plan.arguments[0].bytes(), 4000);
  EXPECT_EQ(plan.arguments[1].bytes(), 8);
  EXPECT_TRUE(plan.arguments[2].read && !plan.arguments[2].written);
  EXPECT_FALSE(plan.arguments[3].pointer);
  EXPECT_EQ(plan.bytes(), 2 * 4000 + 2 * 8 + 4000);
  EXPECT_GT(plan.arguments[0].abs + plan.arguments[0].rel, 0);
  const CopyPlan cold = copy_plan(kernel.spec, problem, KernelSpec::generic_device(), true);
  EXPECT_EQ(cold.bytes(), plan.bytes() + cold.flush_bytes);
  EXPECT_GE(cold.flush_bytes, std::int64_t{16} << 20);
}

}  // namespace
}  // namespace tunebook::testing
