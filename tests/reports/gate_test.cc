#include "reports/gate.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/random.h"

namespace tunebook::reports {
namespace {

Judgement judge_one(const std::vector<double>& base, const std::vector<double>& candidate, double gate = 0.02) {
  const std::vector<GateItem> items = {{base, candidate, gate}};
  return judge(items).front();
}

const std::vector<double> kTen = {99.5, 100.2, 100.0, 99.8, 100.4, 100.1, 99.9, 100.3, 99.7, 100.1};

std::vector<double> scaled(std::vector<double> times, double factor) {
  for (double& time : times) time *= factor;
  return times;
}

TEST(Gate, EachVerdict) {
  const Judgement slower = judge_one(kTen, scaled(kTen, 1.05));
  EXPECT_EQ(slower.verdict, Verdict::regression);
  EXPECT_NEAR(*slower.change, 0.05, 1e-12);
  EXPECT_LT(slower.test->interval.low, 1.05);
  EXPECT_GT(slower.test->interval.high, 1.05);
  EXPECT_EQ(judge_one(scaled(kTen, 1.05), kTen).verdict, Verdict::improvement);
  EXPECT_EQ(judge_one(kTen, kTen).verdict, Verdict::unchanged);
  EXPECT_EQ(judge_one(kTen, kTen).holm_p, 1);

  // Certainly slower, yet within the gate: not a regression, and unchanged if all of the interval is.
  const Judgement small = judge_one(kTen, scaled(kTen, 1.015));
  EXPECT_LT(*small.holm_p, 1e-6);
  EXPECT_EQ(small.verdict, Verdict::unchanged);
  EXPECT_EQ(judge_one(kTen, scaled(kTen, 1.019)).verdict, Verdict::inconclusive);
  EXPECT_EQ(judge_one(kTen, scaled(kTen, 1.019), 0.01).verdict, Verdict::regression);
  EXPECT_EQ(judge_one(kTen, scaled(kTen, 1.05), 0.06).verdict, Verdict::unchanged);

  // Large, but it may be chance.
  const Judgement wild = judge_one({80, 100, 125}, {90, 112, 140});
  EXPECT_EQ(wild.verdict, Verdict::inconclusive);
  EXPECT_GT(*wild.change, 0.1);
  EXPECT_NE(wild.reason.find("may be chance"), std::string::npos) << wild.reason;
}

TEST(Gate, ExactTimesMeetTheGateOnBothSides) {
  const std::vector<double> base(10, 1.0);
  for (const double gate : {0.02, 0.25}) {
    EXPECT_EQ(judge_one(base, std::vector<double>(10, 1 + gate - 1e-9), gate).verdict, Verdict::unchanged);
    EXPECT_EQ(judge_one(base, std::vector<double>(10, 1 + gate + 1e-9), gate).verdict, Verdict::regression);
    EXPECT_EQ(judge_one(base, std::vector<double>(10, 1 - gate + 1e-9), gate).verdict, Verdict::unchanged);
    EXPECT_EQ(judge_one(base, std::vector<double>(10, 1 - gate - 1e-9), gate).verdict, Verdict::improvement);
  }
}

TEST(Gate, WithoutSpread) {
  EXPECT_EQ(judge_one({5, 5, 5}, {5, 5, 5}).verdict, Verdict::unchanged);
  EXPECT_EQ(judge_one({5, 5, 5}, {5.5, 5.5}).verdict, Verdict::regression);
  EXPECT_EQ(judge_one({5, 5, 5}, {5.05, 5.05}).verdict, Verdict::unchanged);
}

// Processes that differ by 20 %, the same for both: paired times tell 3 %, unpaired ones nothing.
TEST(Gate, PairedTimes) {
  std::vector<double> base, candidate;
  for (int process = 0; process < 10; ++process) {
    base.push_back(100 * (1 + 0.02 * process));
    candidate.push_back(base.back() * (1.03 + 0.001 * (process % 3)));
  }
  const std::vector<GateItem> items = {{base, candidate, 0.02, true}, {base, candidate, 0.02, false}};
  const std::vector<Judgement> judgements = judge(items);
  EXPECT_EQ(judgements[0].verdict, Verdict::regression);
  EXPECT_EQ(judgements[0].test->degrees, 9);
  EXPECT_NEAR(*judgements[0].change, 0.0309, 0.0002);
  EXPECT_EQ(judgements[1].verdict, Verdict::inconclusive);
  EXPECT_NEAR(*judgements[1].change, *judgements[0].change, 1e-12);
  // Not paired after all.
  const std::vector<GateItem> uneven = {{base, std::span(candidate).first(9), 0.02, true}};
  EXPECT_EQ(judge(uneven).front().verdict, Verdict::inconclusive);
  // Bad times are none here either.
  const std::vector<double> bad = {1, -1}, good = {1, 1};
  EXPECT_FALSE(judge(std::vector<GateItem>{{good, bad, 0.02, true}}).front().test);
}

TEST(Gate, TooLittleOrBadData) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Judgement one = judge_one({100}, scaled(kTen, 1.5));
  EXPECT_EQ(one.verdict, Verdict::inconclusive);
  EXPECT_FALSE(one.test);
  EXPECT_FALSE(one.holm_p);
  ASSERT_TRUE(one.change);
  EXPECT_NEAR(*one.change, 0.5, 0.01);
  EXPECT_NE(one.reason.find("base was timed in one process only"), std::string::npos) << one.reason;
  for (const std::vector<double>& bad : {std::vector<double>{}, {100, 0}, {100, -1}, {100, nan}, {100, infinity}}) {
    for (const bool first : {true, false}) {
      const Judgement judgement = first ? judge_one(bad, kTen) : judge_one(kTen, bad);
      EXPECT_EQ(judgement.verdict, Verdict::inconclusive);
      EXPECT_FALSE(judgement.change);
      EXPECT_FALSE(judgement.holm_p);
      EXPECT_NE(judgement.reason.find(first ? "base" : "candidate"), std::string::npos) << judgement.reason;
    }
  }
  EXPECT_TRUE(judge({}).empty());
}

// What cannot be tested is no member of the family; each that can raises the bar for all.
TEST(Gate, TheFamilyAreTheTestedItems) {
  const std::vector<double> slower = scaled({99, 101, 100, 99.5, 100.5}, 1.03), base = {99.2, 100.8, 100, 99.6, 100.4}, one = {100};
  const Judgement alone = judge_one(base, slower);
  ASSERT_EQ(alone.verdict, Verdict::regression);
  EXPECT_EQ(*alone.holm_p, alone.test->p);
  std::vector<GateItem> items = {{base, slower, 0.02}};
  for (int i = 0; i < 30; ++i) items.push_back({base, one, 0.02});
  EXPECT_EQ(judge(items).front().verdict, Verdict::regression);
  EXPECT_EQ(judge(items).front().holm_p, alone.holm_p);
  for (int i = 0; i < 30; ++i) items.push_back({base, base, 0.02});
  const Judgement among_many = judge(items).front();
  EXPECT_NEAR(*among_many.holm_p, 31 * alone.test->p, 1e-12);
  EXPECT_EQ(among_many.verdict, 31 * alone.test->p < kFamilyAlpha ? Verdict::regression : Verdict::inconclusive);
}

TEST(Gate, ManyItems) {
  Random random(2);
  std::vector<std::vector<double>> times(4000);
  std::vector<GateItem> items;
  for (std::vector<double>& sample : times) {
    for (int i = 0; i < 10; ++i) sample.push_back(50 * std::exp(0.005 * random.normal()));
  }
  for (std::size_t i = 0; i + 1 < times.size(); i += 2) items.push_back({times[i], times[i + 1], 0.02});
  for (const Judgement& judgement : judge(items)) EXPECT_EQ(judgement.verdict, Verdict::unchanged);
}

Night night(double median_us, const std::string& configuration = "A", const std::string& hash = "1") { return {configuration, hash, median_us}; }

TEST(HistoricalNoise, ThreeDeviationsOfTheChangesOfFiveNights) {
  // Changes +10 %, -10 %, +10 %, -10 %: their mean is 0, their deviation sqrt(4 * 0.01 / 3).
  const std::vector<Night> nights = {night(100), night(110), night(99), night(108.9), night(98.01)};
  const HistoricalNoise noise = historical_noise(nights);
  EXPECT_NEAR(noise.share, 3 * std::sqrt(0.04 / 3), 1e-12);
  EXPECT_EQ(noise.nights, 5u);
  EXPECT_EQ(historical_noise(std::span(nights).first(4)).share, 0);
  EXPECT_EQ(historical_noise({}).share, 0);
  // A steady drift is not noise.
  EXPECT_NEAR(historical_noise(std::vector<Night>{night(100), night(101), night(102.01), night(103.0301), night(104.060401)}).share, 0, 1e-9);
}

TEST(HistoricalNoise, OnlyNightsOfTheSameConfigurationAndKernel) {
  std::vector<Night> nights;
  for (const double median : {100.0, 101.0, 100.0, 102.0, 100.0}) {
    nights.push_back(night(median));
    nights.push_back(night(3 * median, "A", "2"));  // another version of the kernel
    nights.push_back(night(7 * median, "B"));       // another winner
  }
  const HistoricalNoise mixed = historical_noise(nights);
  EXPECT_EQ(mixed.nights, 15u);
  EXPECT_GT(mixed.share, 0.03);
  EXPECT_LT(mixed.share, 0.06);
  // Versions that come once say nothing, and do not count.
  std::vector<Night> ever_new;
  for (int i = 0; i < 20; ++i) ever_new.push_back(night(100 + i, "A", std::to_string(i)));
  EXPECT_EQ(historical_noise(ever_new).share, 0);
  EXPECT_EQ(historical_noise(ever_new).nights, 0u);
}

TEST(HistoricalNoise, BadMediansAreLeftOut) {
  const std::vector<Night> good = {night(100), night(101), night(100), night(102), night(100)};
  std::vector<Night> bad = good;
  for (const double median : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    bad.insert(bad.begin() + 2, night(median));
  }
  EXPECT_EQ(historical_noise(bad).share, historical_noise(good).share);
  EXPECT_EQ(historical_noise(bad).nights, 5u);
}

TEST(ShareText, Digits) {
  EXPECT_EQ(share_text(0.0834), "8.3 %");
  EXPECT_EQ(share_text(-0.02), "2.0 %");
  EXPECT_EQ(share_text(0.00123), "0.12 %");
  EXPECT_EQ(share_text(1.5), "150.0 %");
}

}  // namespace
}  // namespace tunebook::reports
