// Curves, thinned trials, groups of failures, effects of parameters.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/random.h"
#include "reports/convergence.h"
#include "reports/effects.h"
#include "reports/failure_groups.h"
#include "reports/thinning.h"

namespace tunebook::reports {
namespace {

using Times = std::vector<std::optional<double>>;

// The mean best over all subsets of `draws` trials that hold a time.
double expectation_by_counting(const Times& times, int draws) {
  double sum = 0;
  int subsets = 0;
  for (unsigned subset = 0; subset < (1u << times.size()); ++subset) {
    if (__builtin_popcount(subset) != draws) continue;
    std::optional<double> best;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (((subset >> i) & 1) != 0 && times[i] && (!best || *times[i] < *best)) best = times[i];
    }
    if (!best) continue;
    sum += *best;
    ++subsets;
  }
  return sum / subsets;
}

TEST(RandomExpectation, IsTheMeanOverAllDraws) {
  const Times times = {3.0, std::nullopt, 1.5, 8.0, std::nullopt, 2.0, 2.0, std::nullopt, 40.0, 1.25};
  const auto curve = random_expectation(times, 100);
  ASSERT_EQ(curve.size(), times.size());
  for (std::size_t i = 0; i < curve.size(); ++i) {
    EXPECT_EQ(curve[i].evaluation, static_cast<std::int64_t>(i) + 1);
    EXPECT_NEAR(curve[i].time_us, expectation_by_counting(times, static_cast<int>(i) + 1), 1e-12) << i;
  }
  EXPECT_EQ(curve.back().time_us, 1.25);
}

TEST(RandomExpectation, OfManyTrialsFallsToTheirBest) {
  Times times(200'000);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (i % 3 != 0) times[i] = 1.0 + static_cast<double>((i * 7919) % 100'003);
  }
  const auto curve = random_expectation(times, 50);
  ASSERT_GT(curve.size(), 30u);
  EXPECT_LE(curve.size(), 50u);
  EXPECT_EQ(curve.front().evaluation, 1);
  EXPECT_EQ(curve.back().evaluation, 200'000);
  EXPECT_NEAR(curve.back().time_us, 1.0, 1e-9);
  double sum = 0, count = 0;
  for (const auto& time : times) {
    if (time) sum += *time, ++count;
  }
  EXPECT_NEAR(curve.front().time_us, sum / count, 1e-6 * sum / count);
  EXPECT_TRUE(std::is_sorted(curve.rbegin(), curve.rend(), [](const auto& x, const auto& y) { return x.time_us < y.time_us; }));
}

TEST(RandomExpectation, FailuresAloneHaveNone) {
  EXPECT_TRUE(random_expectation(Times(5), 10).empty());
  EXPECT_TRUE(random_expectation(Times{}, 10).empty());
  EXPECT_TRUE(improvements(Times(5)).empty());
}

TEST(Improvements, AreStrict) {
  const auto curve = improvements(Times{std::nullopt, 5.0, 5.0, 6.0, 4.0, std::nullopt, 4.5, 1.0});
  ASSERT_EQ(curve.size(), 3u);
  EXPECT_EQ(curve[0].evaluation, 2);
  EXPECT_EQ(curve[1].evaluation, 5);
  EXPECT_EQ(curve[2].evaluation, 8);
  EXPECT_EQ(curve[2].time_us, 1.0);
}

std::vector<PlottedTrial> random_trials(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<PlottedTrial> trials(count);
  for (PlottedTrial& trial : trials) {
    const std::uint64_t kind = random.below(10);
    if (kind == 0) trial.outcome = Outcome::compile_error;
    else if (kind == 1) trial.outcome = Outcome::wrong_result;
    else trial.time_us = 1 + static_cast<double>(random.below(1'000'000));
  }
  return trials;
}

TEST(Thinning, KeepsFewTrialsAsTheyAre) {
  const auto trials = random_trials(300, 1);
  const auto kept = thin_trials(trials, 300);
  ASSERT_EQ(kept.size(), 300u);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].trial, i);
    EXPECT_EQ(kept[i].count, 1);
  }
  EXPECT_TRUE(thin_trials({}, 10).empty());
}

TEST(Thinning, KeepsExtremesImprovementsAndCounts) {
  for (const std::size_t points : {60u, 200u, 1000u}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const auto trials = random_trials(20'000, seed);
      const auto kept = thin_trials(trials, points);
      EXPECT_LE(kept.size(), points + points / 2) << points;
      std::vector<bool> shown(trials.size());
      std::map<Outcome, std::int64_t> failures;
      std::size_t last = 0;
      for (const KeptTrial& each : kept) {
        EXPECT_TRUE(&each == &kept.front() || each.trial > last);
        last = each.trial;
        shown[each.trial] = true;
        if (!trials[each.trial].time_us) failures[trials[each.trial].outcome] += each.count;
        else EXPECT_EQ(each.count, 1);
      }
      for (const Outcome outcome : {Outcome::compile_error, Outcome::wrong_result}) {
        EXPECT_EQ(failures[outcome], std::count_if(trials.begin(), trials.end(), [&](const PlottedTrial& trial) { return trial.outcome == outcome; }));
      }
      double best = 1e300, slowest = 0;
      std::size_t improvements_missed = 0;
      for (std::size_t i = 0; i < trials.size(); ++i) {
        if (!trials[i].time_us) continue;
        if (*trials[i].time_us < best) {
          best = *trials[i].time_us;
          if (!shown[i]) ++improvements_missed;
        }
        slowest = std::max(slowest, *trials[i].time_us);
      }
      EXPECT_EQ(improvements_missed, 0u);
      EXPECT_TRUE(std::any_of(kept.begin(), kept.end(), [&](const KeptTrial& each) { return trials[each.trial].time_us == best; }));
      EXPECT_TRUE(std::any_of(kept.begin(), kept.end(), [&](const KeptTrial& each) { return trials[each.trial].time_us == slowest; }));
    }
  }
}

TEST(Thinning, OfTimesThatAlwaysImproveKeepsTheLast) {
  std::vector<PlottedTrial> trials(10'000);
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i].time_us = 1e6 - static_cast<double>(i);
  const auto kept = thin_trials(trials, 100);
  EXPECT_LE(kept.size(), 130u);
  EXPECT_EQ(kept.front().trial, 0u);  // the slowest
  EXPECT_EQ(kept.back().trial, trials.size() - 1);
}

TEST(FailureGroups, NumbersDoNotTellMessagesApart) {
  EXPECT_EQ(failure_key("c[17]: 0.25 instead of 1e-05, at 0x7fA0\nmore 5"), "c[#]: # instead of #, at #");
  EXPECT_EQ(failure_key(""), "");
  EXPECT_EQ(failure_key("x1.y"), "x#.y");
  FailureGroups groups(20);
  const std::uint32_t first = groups.group(Outcome::wrong_result, "c[17] is wrong");
  EXPECT_EQ(groups.group(Outcome::wrong_result, "c[18] is wrong"), first);
  EXPECT_NE(groups.group(Outcome::fault, "c[18] is wrong"), first);
  EXPECT_EQ(groups.message(first), "c[17] is wrong");
  const std::uint32_t bad = groups.group(Outcome::fault, "\xFF\xFE and a long text that goes on");
  EXPECT_EQ(groups.message(bad), "\xEF\xBF\xBD\xEF\xBF\xBD and a long te...");
}

TEST(FailureGroups, AreBounded) {
  FailureGroups groups(100);
  std::string message(5, 'a');
  for (std::size_t i = 0; i < FailureGroups::kMostGroups + 500; ++i) {
    std::size_t rest = i;
    for (char& c : message) {
      c = static_cast<char>('a' + rest % 26);
      rest /= 26;
    }
    groups.group(Outcome::compile_error, message);
  }
  EXPECT_EQ(groups.size(), FailureGroups::kMostGroups + 1);
  EXPECT_EQ(groups.message(static_cast<std::uint32_t>(groups.size() - 1)), "(other messages)");
}

TEST(FailureGroups, AnyBytesGiveValidText) {
  Random random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string message(random.below(40), '\0');
    for (char& c : message) c = static_cast<char>(random.below(256));
    const std::string shown = shown_message(message, 16);
    EXPECT_LE(shown.size(), 19u);
    const nlohmann::json json = shown;
    EXPECT_NO_THROW(json.dump());
    failure_key(message);
  }
}

TEST(Effects, AreThoseOfEachValue) {
  EffectCollector collector;
  collector.declare("B", {"8", "4"});
  collector.declare("FLAG", {"false", "true"});
  EXPECT_TRUE(collector.add(R"({"A":"x","B":4,"FLAG":true})", 10.0));
  EXPECT_TRUE(collector.add(R"({"A":"x","B":8,"FLAG":true})", 30.0));
  EXPECT_TRUE(collector.add(R"({"A":"x","B":4,"FLAG":false})", 20.0));
  EXPECT_TRUE(collector.add(R"({"A":"x","B":4,"FLAG":true})", std::nullopt));
  EXPECT_TRUE(collector.add(R"({"A":"x","B":16,"FLAG":true})", std::nullopt));
  EXPECT_FALSE(collector.add(R"({"A":{"B":4}})", 1.0));
  EXPECT_FALSE(collector.add(R"([1])", 1.0));
  EXPECT_FALSE(collector.add(R"({"A":1)", 1.0));
  const auto effects = collector.effects(10);
  ASSERT_EQ(effects.size(), 2u);  // A has one value
  EXPECT_EQ(effects[0].parameter, "B");
  EXPECT_EQ(*effects[0].spread_of_best, 3.0);
  ASSERT_EQ(effects[0].values.size(), 3u);
  EXPECT_EQ(effects[0].values[0].value, "8");
  EXPECT_EQ(effects[0].values[1].value, "4");
  EXPECT_EQ(effects[0].values[1].trials, 3);
  EXPECT_EQ(effects[0].values[1].timed, 2);
  EXPECT_EQ(*effects[0].values[1].best_us, 10.0);
  EXPECT_EQ(*effects[0].values[1].median_us, 15.0);
  EXPECT_EQ(effects[0].values[2].value, "16");
  EXPECT_FALSE(effects[0].values[2].best_us);
  EXPECT_EQ(effects[1].parameter, "FLAG");
  EXPECT_EQ(*effects[1].spread_of_best, 2.0);
  EXPECT_EQ(collector.effects(1)[0].values.size(), 1u);
  EXPECT_EQ(collector.effects(1)[0].values[0].value, "4");
}

TEST(Effects, AnyTextIsTakenOrLeft) {
  Random random(5);
  EffectCollector collector;
  const std::string good = R"({"A":"x","B":4,"C":true,"D":-1.5e3})";
  std::int64_t taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (std::uint64_t changes = random.below(4); changes > 0; --changes) {
      const std::size_t at = random.below(text.size());
      if (random.below(2) == 0) text[at] = static_cast<char>(random.below(256));
      else text.erase(at, 1);
    }
    if (collector.add(text, 1.0)) ++taken;
  }
  EXPECT_GT(taken, 5000);  // at least those that were not changed
  std::int64_t most = 0;
  for (const ParameterEffect& effect : collector.effects(1000)) {
    std::int64_t trials = 0;
    for (const EffectValue& value : effect.values) trials += value.trials;
    most = std::max(most, trials);
    EXPECT_NO_THROW(nlohmann::json(effect.parameter).dump());
  }
  EXPECT_LE(most, taken);
}

}  // namespace
}  // namespace tunebook::reports
