// Which shape is tuned next: known answers, and a model of the rule written anew.
#include "sweep/cover_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "core/random.h"
#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const auto kNoneDone = [](const CoverQuestion&) { return false; };

CoverRegion line(bool classes = false) {
  CoverRegion region;
  region.item = item("plain", Problem());
  region.dimensions = {{"n", 1, 1 << 20, {}, classes}};
  return region;
}

CoverQuestion at(std::int64_t n, double weight = 1) { return {{n}, weight}; }

std::vector<TimeModel::LossBin> bins() {
  return {{1, 0.1, 0.2, 0.3, 8}, {3, 0.2, 0.4, 0.5, 8}, {kInfinity, 0.4, 0.6, 0.7, 8}};
}

TEST(CoverChoice, LossesRiseAlongTheModelsBins) {
  const auto loss = [&](std::int64_t n) {
    CoverKnowledge knowledge;
    knowledge.tuned = {{1}};
    knowledge.loss = bins();
    return CoverChoice(line(), {at(n)}, knowledge).expected_loss();
  };
  EXPECT_DOUBLE_EQ(loss(1), 0);
  EXPECT_DOUBLE_EQ(loss(2), 0.1);
  EXPECT_DOUBLE_EQ(loss(4), 0.15);
  EXPECT_DOUBLE_EQ(loss(8), 0.2);
  EXPECT_DOUBLE_EQ(loss(16), 0.4) << "a factor of two beyond the last bin with an end";
  EXPECT_DOUBLE_EQ(loss(1024), 0.4);
  // Nothing is known.
  EXPECT_DOUBLE_EQ(CoverChoice(line(), {at(5)}, {}).expected_loss(), CoverChoice::kUnknownLoss);
  CoverKnowledge tuned;
  tuned.tuned = {{1}};
  EXPECT_DOUBLE_EQ(CoverChoice(line(), {at(2), at(1)}, tuned).expected_loss(),
                   CoverChoice::kUnknownLoss * (1 - std::exp(-1.0)) / 2);
}

TEST(CoverChoice, AnotherClassIsHalfAStepAway) {
  CoverKnowledge knowledge;
  knowledge.tuned = {{64}};
  knowledge.loss = {{kInfinity, 0.1, 0.2, 0.2, 8}};
  EXPECT_DOUBLE_EQ(CoverChoice(line(true), {at(128)}, knowledge).expected_loss(), 0.1);
  EXPECT_NEAR(CoverChoice(line(true), {at(65)}, knowledge).expected_loss(), 0.05, 1e-3);
  EXPECT_NEAR(CoverChoice(line(false), {at(65)}, knowledge).expected_loss(),
              0.1 * std::log2(65.0 / 64), 1e-9);
}

TEST(CoverChoice, WhatTheModelExpectsToLoseMoreThanUsuallyIsAdded) {
  CoverKnowledge knowledge;
  knowledge.tuned = {{1}};
  knowledge.loss = {{kInfinity, 0.1, 0.2, 0.2, 8}};
  knowledge.usual_prediction = 0.05;
  knowledge.least_predicted = {0.02, 0.15, -1};
  const CoverChoice choice(line(), {at(2), at(4), at(8)}, knowledge);
  EXPECT_NEAR(choice.expected_loss(), (0.1 + (0.1 + 0.1) + 0.5) / 3, 1e-12);
  const auto pick = choice.next(kNoneDone);
  ASSERT_TRUE(pick);
  EXPECT_EQ(pick->question, 2U);
  EXPECT_TRUE(pick->no_candidate);
  EXPECT_DOUBLE_EQ(pick->expected_loss, 0.5);
  EXPECT_DOUBLE_EQ(pick->distance.value(), 3);
  EXPECT_NE(
      pick->reason().find("expected to lose 50.0 %: no configuration that was timed is valid here"),
      std::string::npos)
      << pick->reason();
}

TEST(CoverChoice, WeightDecides) {
  const std::vector<CoverQuestion> even = {at(4), at(1 << 10)}, uneven = {at(4), at(1 << 10, 1.5)};
  EXPECT_EQ(CoverChoice(line(), even, {}).next(kNoneDone)->question, 0U);
  EXPECT_EQ(CoverChoice(line(), uneven, {}).next(kNoneDone)->question, 1U);
  EXPECT_FALSE(CoverChoice(line(), even, {}).next([](const CoverQuestion&) { return true; }));
}

TEST(CoverChoice, WithAnEmptyBookTheFirstChoicesCoverTheClasses) {
  CoverRegion region;
  region.item = item("product", product_problem(1, 1, 1));
  region.dimensions = {{"m", 1, 8192, {}, true}, {"n", 16, 8192, {}, true}};
  CoverChoice choice(region, draw_questions(region), {});
  std::set<std::int64_t> of_m, of_n;
  double before = choice.expected_loss();
  for (int i = 0; i < 16; ++i) {
    const auto pick = choice.next(kNoneDone);
    ASSERT_TRUE(pick);
    const auto& sizes = choice.questions()[pick->question].sizes;
    of_m.insert(divisibility_class(sizes[0]));
    of_n.insert(divisibility_class(sizes[1]));
    EXPECT_DOUBLE_EQ(pick->before, before);
    EXPECT_LT(pick->after, before);
    choice.tune(pick->question);
    EXPECT_NEAR(choice.expected_loss(), pick->after, 1e-12);
    before = choice.expected_loss();
  }
  EXPECT_EQ(of_m.size(), 5U);
  EXPECT_EQ(of_n.size(), 5U);
}

// The rule for shapes of one size without classes, written as plainly as can be.
double plain_loss(double distance, double predicted, double first) {
  if (distance == 0) return 0;
  const double base = distance < 1   ? 0.1 * distance
                      : distance < 3 ? 0.1 + 0.05 * (distance - 1)
                                     : std::min(0.4, 0.2 + 0.2 * (distance - 3));
  const double share = std::min(1.0, std::isinf(first) ? distance : distance / first);
  return predicted < 0 ? std::max(base, 0.5 * share)
                       : std::min(1.0, base + std::max(0.0, predicted - 0.03) * share);
}

TEST(CoverChoice, TheChoiceIsTheOneThatLowersTheRegionsLossMost) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<CoverQuestion> questions;
    CoverKnowledge knowledge;
    knowledge.loss = bins();
    knowledge.usual_prediction = 0.03;
    for (int i = 0; i < 12; ++i) {
      questions.push_back(
          at(1 + static_cast<std::int64_t>(random.below(5000)), 1 + random.uniform()));
      knowledge.least_predicted.push_back(random.below(5) == 0 ? -1 : 0.2 * random.uniform());
    }
    for (std::uint64_t i = random.below(4); i > 0; --i)
      knowledge.tuned.push_back({1 + static_cast<std::int64_t>(random.below(5000))});
    const auto far = [](std::int64_t x, std::int64_t y) {
      return std::abs(std::log2(static_cast<double>(x) / static_cast<double>(y)));
    };
    const auto total = [&](std::optional<std::size_t> also) {
      double sum = 0;
      for (std::size_t i = 0; i < questions.size(); ++i) {
        double first = kInfinity;
        for (const auto& tuned : knowledge.tuned)
          first = std::min(first, far(questions[i].sizes[0], tuned[0]));
        const double now =
            also ? std::min(first, far(questions[i].sizes[0], questions[*also].sizes[0])) : first;
        sum += questions[i].weight * plain_loss(now, knowledge.least_predicted[i], first);
      }
      return sum;
    };
    double least = total(std::nullopt);
    for (std::size_t i = 0; i < questions.size(); ++i) least = std::min(least, total(i));
    const auto pick = CoverChoice(line(), questions, knowledge).next(kNoneDone);
    ASSERT_TRUE(pick);
    EXPECT_NEAR(total(pick->question), least, 1e-9);
  }
}

}  // namespace
}  // namespace tunebook::testing
