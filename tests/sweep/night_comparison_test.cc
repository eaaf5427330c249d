// What counts as slower than the night before: the statistics of `compare`, over all items of a night.
#include "sweep/night_comparison.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "reports/comparison.h"
#include "sweep_fixture.h"
#include "sweep_samples.h"

namespace tunebook {
namespace {

using nlohmann::ordered_json;
using reports::Verdict;
using Times = std::vector<double>;

ordered_json winner(const Times& times, int block = 32) {
  return {{"configuration", {{"BM", block}}}, {"median_us", times.empty() ? 0 : times.front()}, {"process_medians_us", times}};
}

// One item for each pair of times before and now.
struct NightOf {
  explicit NightOf(std::vector<std::pair<Times, Times>> times) : plan(test::sample_plan(times.size())) {
    for (const auto& [before, now] : times) results.push_back({{"previous", winner(before)}, {"winner", winner(now)}});
  }
  std::vector<NightComparison> compare() const {
    std::vector<const ordered_json*> pointers;
    for (const ordered_json& result : results) pointers.push_back(&result);
    return compare_nights(plan, pointers);
  }
  Verdict verdict() const { return compare().at(0).verdict(); }

  FrozenPlan plan;
  std::vector<ordered_json> results;
};

const Times kSteady = {100, 100.1, 99.9, 100, 100.1};
Times times(const Times& of, double factor) {
  Times scaled;
  for (const double value : of) scaled.push_back(factor * value);
  return scaled;
}

TEST(NightComparison, OneProcessASideIsInconclusiveWhateverTheChange) {
  for (const double now : {50.0, 100.0, 103.0, 1000.0}) {
    const NightOf night({{{100}, {now}}});
    EXPECT_EQ(night.verdict(), Verdict::inconclusive) << now;
    EXPECT_NEAR(*night.compare()[0].judgement.change, now / 100 - 1, 1e-12);
    EXPECT_NE(night.compare()[0].judgement.reason.find("in one process only, so its spread is not known"), std::string::npos);
  }
  EXPECT_EQ(NightOf({{{100}, times(kSteady, 2)}}).verdict(), Verdict::inconclusive);
}

TEST(NightComparison, SlowerIsBeyondTheGateAndNoChance) {
  EXPECT_EQ(NightOf({{kSteady, times(kSteady, 1.015)}}).verdict(), Verdict::unchanged);
  EXPECT_EQ(NightOf({{kSteady, times(kSteady, 1.025)}}).verdict(), Verdict::regression);
  EXPECT_EQ(NightOf({{kSteady, times(kSteady, 0.9)}}).verdict(), Verdict::improvement);
  const Times noisy = {90, 110, 100, 95, 105};
  EXPECT_EQ(NightOf({{noisy, times(noisy, 1.05)}}).verdict(), Verdict::inconclusive);
  EXPECT_EQ(NightOf({{noisy, times(noisy, 2)}}).verdict(), Verdict::regression);
}

TEST(NightComparison, WhatTheItemMovesByItselfIsNoRegression) {
  NightOf night({{kSteady, times(kSteady, 1.05)}});
  EXPECT_EQ(night.verdict(), Verdict::regression);
  night.plan.items[0].noise = {0.08, 6};
  EXPECT_EQ(night.verdict(), Verdict::unchanged);
  EXPECT_DOUBLE_EQ(night.compare()[0].gate, 0.08);
  night.plan.items[0].noise = {0.001, 6};
  EXPECT_DOUBLE_EQ(night.compare()[0].gate, 0.02) << "never less than the threshold";
}

// p = 0.018 alone; of twenty such nights one has an item like it by chance.
TEST(NightComparison, MoreItemsNeedMoreEvidence) {
  const Times before = {100, 103, 98, 101, 99}, now = {104, 108, 101, 106, 103};
  std::vector<std::pair<Times, Times>> many(20, {kSteady, kSteady});
  many[7] = {before, now};
  EXPECT_EQ(NightOf({{before, now}}).verdict(), Verdict::regression);
  const auto comparisons = NightOf(many).compare();
  EXPECT_EQ(comparisons[7].verdict(), Verdict::inconclusive);
  EXPECT_NE(comparisons[7].judgement.reason.find("it may be chance"), std::string::npos);
  EXPECT_GT(*comparisons[7].judgement.holm_p, 0.05);
}

TEST(NightComparison, ItemsWithoutTwoWinnersAreLeftOut) {
  NightOf night({{kSteady, kSteady}, {kSteady, times(kSteady, 1.1)}, {kSteady, kSteady}, {{}, kSteady}});
  night.results[0] = nullptr;
  night.results[2]["previous"] = nullptr;
  const auto comparisons = night.compare();
  ASSERT_EQ(comparisons.size(), 1U);
  EXPECT_EQ(comparisons[0].item, 1U);
}

// As in `compare`: of energy a winner has one value, which allows no test.
TEST(NightComparison, SessionsForEnergyAreJudgedByTime) {
  NightOf night({{kSteady, times(kSteady, 1.5)}});
  night.plan.items[0].item.settings.objective = Objective::energy;
  night.results[0]["previous"]["energy_j"] = 2.0;
  night.results[0]["winner"]["energy_j"] = 1.5;
  const auto comparisons = night.compare();
  EXPECT_EQ(comparisons.at(0).verdict(), Verdict::regression);
  EXPECT_NE(comparisons[0].judgement.reason.find("judged by time: of energy each winner has one value, 1.5 J now and 2 J before"), std::string::npos);
  EXPECT_EQ(comparisons[0].to_json(night.plan)["now_j"], 1.5);
}

TEST(NightComparison, TheReasonSaysWhetherItIsTheSameConfiguration) {
  NightOf night({{kSteady, times(kSteady, 1.1)}});
  EXPECT_NE(night.compare()[0].judgement.reason.find("the same configuration got slower"), std::string::npos);
  night.results[0]["winner"] = winner(times(kSteady, 1.1), 64);
  EXPECT_NE(night.compare()[0].judgement.reason.find("another winner"), std::string::npos);
}

TEST(NightComparison, TextNamesWhatIsOrMayBeSlower) {
  std::vector<std::pair<Times, Times>> many = {{kSteady, times(kSteady, 1.1)}, {{100}, {130}}, {{100}, {101}}, {kSteady, kSteady}};
  const NightOf night(many);
  const std::string text = verdicts_text(night.plan, night.compare());
  EXPECT_NE(text.find("4 winners beside those before: 1 slower, 0 faster, 1 unchanged, 2 inconclusive"), std::string::npos) << text;
  EXPECT_NE(text.find("  slower than before: matmul n=1 on cpu: 110 us, before 100 us, +10.0 %: slower by 10.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("  perhaps slower than before: matmul n=2 on cpu: 130 us, before 100 us, +30.0 %: "), std::string::npos) << text;
  EXPECT_EQ(text.find("n=3"), std::string::npos) << text;
  EXPECT_EQ(verdicts_text(night.plan, {}), "");
  // Slower by 5 %, which is nothing at this noise.
  const Times noisy = {90, 110, 100, 95, 105};
  const NightOf chance({{noisy, times(noisy, 1.05)}});
  EXPECT_EQ(verdicts_text(chance.plan, chance.compare()), "  1 winners beside those before: 0 slower, 0 faster, 0 unchanged, 1 inconclusive\n");
}

// ---- beside `compare`

// Sessions of one item, a night each, as a book and a report have them.
struct History {
  SessionHistory sessions;
  std::vector<reports::TrendPoint> trend;
};

constexpr double kDay = 24 * 3600.0;

History history_of(const SweepItem& item, const Times& medians) {
  History history;
  for (std::size_t i = 0; i < medians.size(); ++i) {
    SessionSummary session = testing::session(item, kDay * static_cast<double>(medians.size() - i));
    session.winner_us = medians[i];
    reports::TrendPoint point;
    point.session_id = session.id;
    point.configuration = session.winner;
    point.kernel_hash = session.kernel_hash;
    point.time.median_us = medians[i];
    history.sessions.sessions.push_back(session);
    history.trend.push_back(point);
  }
  return history;
}

ItemContext context() { return {"hash-1", testing::gpu().key(), "nvrtc 13.0; driver 580.1", "cold/2"}; }

TEST(NightComparison, VerdictsAreThoseOfCompare) {
  std::mt19937_64 random(1);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::set<Verdict> found;
  for (int round = 0; round < 40; ++round) {
    const std::size_t count = 1 + random() % 12, processes = 1 + random() % 8;
    std::vector<std::pair<Times, Times>> data;
    for (std::size_t i = 0; i < count; ++i) {
      const double spread = 0.03 * uniform() * uniform(), shift = random() % 3 == 0 ? 1 + 0.2 * (uniform() - 0.5) : 1;
      Times before, now;
      for (std::size_t p = 0; p < processes; ++p) {
        before.push_back(50 * (1 + spread * (uniform() - 0.5)));
        now.push_back(50 * shift * (1 + spread * (uniform() - 0.5)));
      }
      data.emplace_back(before, now);
    }
    NightOf night(data);
    reports::Report base, candidate;
    for (std::size_t i = 0; i < count; ++i) {
      Times nights;
      const std::size_t past = random() % 9;
      for (std::size_t n = 0; n < past; ++n) nights.push_back(50 * (1 + 0.04 * (uniform() - 0.5)));
      const History history = history_of(night.plan.items[i].item, nights);
      const SessionIndex index(history.sessions);
      night.plan.items[i].noise = night_noise(night.plan.items[i].item, context(), index, testing::kNow);
      for (reports::Report* report : {&base, &candidate}) {
        reports::Item& item = report->items.emplace_back();
        item.key.kernel = "matmul";
        item.key.problem = night.plan.items[i].item.problem;
        item.key.device_key = "d";
        item.key.method = "cold/2";
        item.key.objective = "time";
        item.finished = true;
        item.winner.emplace();
        item.winner->process_medians_us = report == &base ? data[i].first : data[i].second;
        if (report == &base) item.trend = history.trend;
      }
    }
    const auto nightly = night.compare();
    const reports::Comparison compared = reports::compare(base, candidate, {});
    ASSERT_EQ(nightly.size(), compared.items.size());
    for (const reports::ComparedItem& item : compared.items) {
      const NightComparison& own = nightly.at(*item.base);
      EXPECT_EQ(own.verdict(), item.verdict);
      EXPECT_EQ(own.judgement.holm_p, item.holm_p);
      EXPECT_EQ(own.judgement.change, item.change);
      EXPECT_DOUBLE_EQ(own.gate, item.gate);
      found.insert(own.verdict());
    }
    EXPECT_EQ(with_verdict(nightly, Verdict::regression).empty(), compared.exit_code != 3);
  }
  EXPECT_EQ(found, (std::set{Verdict::regression, Verdict::improvement, Verdict::unchanged, Verdict::inconclusive}));
}

TEST(NightNoise, ComesFromFiveNightsBeforeTheSweep) {
  const SweepItem item = test::sample_plan(1).items[0].item;
  const History history = history_of(item, {50, 51, 50, 49, 50});
  const auto noise = [&](const std::vector<SessionSummary>& sessions, double before = testing::kNow) {
    const SessionHistory read{sessions};
    const SessionIndex index(read);
    return night_noise(item, context(), index, before);
  };
  const std::vector<SessionSummary>& nights = history.sessions.sessions;
  const NightNoise found = noise(nights);
  EXPECT_EQ(found.nights, 5U);
  // Changes: 0.02, -1/51, -0.02, 1/49.
  EXPECT_NEAR(found.share, 3 * 0.0230, 0.0005);
  EXPECT_EQ(noise({nights.begin() + 1, nights.end()}).share, 0) << "four nights";
  EXPECT_EQ(noise(nights, *nights.back().finished).share, 0) << "the last one is of this sweep";

  std::vector<SessionSummary> changed = nights;
  changed[2].kernel_hash = "hash-2";
  EXPECT_EQ(noise(changed).share, 0) << "another version of the kernel is another time";
  changed = nights;
  changed[2].method = "warm/2";
  EXPECT_EQ(noise(changed).share, 0);
  changed = nights;
  changed[2].finished.reset();
  EXPECT_EQ(noise(changed).share, 0);
  // A session earlier on a date is not its night: this one would make the noise large.
  changed = nights;
  changed.push_back(nights[1]);
  changed.back().id = "f";
  changed.back().finished = *nights[1].finished - 60;
  changed.back().winner_us = 500;
  EXPECT_EQ(noise(changed), found);
}

TEST(NightNoise, IsKeptInFrozenPlans) {
  FrozenPlan plan = test::sample_plan(2);
  plan.items[1].noise = {0.07, 9};
  auto json = plan.to_json();
  EXPECT_EQ(FrozenPlan::from_json(json, "f"), plan);
  json["items"][1].erase("noise");  // as an older Tunebook wrote it
  EXPECT_EQ(FrozenPlan::from_json(json, "f").items[1].noise, NightNoise());
}

}  // namespace
}  // namespace tunebook
