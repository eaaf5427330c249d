// Rules: what they ask, that they find what decides, and that they always end with what is valid.

#include "portfolio/portfolio_rule.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/random.h"
#include "portfolio/portfolio_choice.h"

namespace tunebook {
namespace {

using testing::matmul_problem;

KernelSpec spec() {
  return KernelSpec::parse(nlohmann::ordered_json::parse(testing::kSpecText), "kernel.json");
}

// The true winner of a problem: a function of the product m * n and of whether k divides by 8.
std::size_t winner(std::int64_t m, std::int64_t n, std::int64_t k) {
  return k % 8 != 0 ? 2 : m * n >= 1000000 ? 1 : 0;
}

struct Case {
  std::vector<Problem> problems;
  PortfolioMatrix matrix;
};

Case some_case(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Case made;
  made.matrix = PortfolioMatrix(count, 3);
  for (std::size_t p = 0; p < count; ++p) {
    const auto size = [&] {
      const std::uint64_t power = std::uint64_t{16} << random.below(9);
      return static_cast<std::int64_t>(power + random.below(power));
    };
    const std::int64_t m = size(), n = size();
    const std::int64_t k = random.below(2) == 0 ? size() / 8 * 8 : size() / 8 * 8 + 3;
    made.problems.push_back(matmul_problem(m, n, k));
    for (std::size_t c = 0; c < 3; ++c) {
      const bool valid = c == 2 || k % 8 == 0;  // the third one runs everything, slowly
      if (valid) made.matrix.set(p, c, c == winner(m, n, k) ? 0 : 0.4, true);
    }
  }
  return made;
}

TEST(PortfolioRule, FindsWhatDecides) {
  const Case made = some_case(120, 3);
  const auto conditions = rule_conditions(spec(), made.problems);
  const PortfolioRule rule = fit_rule(made.matrix, {0, 1, 2}, made.problems, conditions, 6);
  double sum = 0;
  for (std::size_t p = 0; p < made.problems.size(); ++p) {
    sum += rule_cost(rule, made.matrix, {0, 1, 2}, made.problems[p], p);
  }
  EXPECT_LT(sum / 120, 0.02);
  EXPECT_LE(rule.depth(), PortfolioRule::kMaxDepth);

  // Also on problems that it never saw.
  const Case other = some_case(400, 4);
  double unseen = 0;
  for (std::size_t p = 0; p < other.problems.size(); ++p) {
    unseen += rule_cost(rule, other.matrix, {0, 1, 2}, other.problems[p], p);
  }
  EXPECT_LT(unseen / 400, 0.03);

  // A flat rule prefers what is best on the whole, and falls back where that is not valid.
  const PortfolioRule flat = fit_rule(made.matrix, {0, 1, 2}, made.problems, conditions, 0);
  ASSERT_EQ(flat.nodes.size(), 1U);
  EXPECT_EQ(flat.nodes[0].order.size(), 3U);
  for (std::size_t p = 0; p < made.problems.size(); ++p) {
    EXPECT_LT(rule_cost(flat, made.matrix, {0, 1, 2}, made.problems[p], p), 0.5);
  }
}

TEST(PortfolioRule, EveryLeafOrdersAllAndThePickIsValid) {
  const Case made = some_case(60, 5);
  const auto conditions = rule_conditions(spec(), made.problems);
  const PortfolioRule rule = fit_rule(made.matrix, {2, 0, 1}, made.problems, conditions, 6);
  for (const PortfolioRule::Node& node : rule.nodes) {
    if (node.condition) continue;
    std::vector<std::size_t> order = node.order;
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
  }
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    const auto any = [&] { return static_cast<std::int64_t>(1 + random.below(1 << 14)); };
    const Problem problem = matmul_problem(any(), any(), any());
    const auto only = [&](std::size_t index) { return index == 1; };
    EXPECT_EQ(rule.pick(problem, only), 1U);
    EXPECT_FALSE(rule.pick(problem, [](std::size_t) { return false; }));
  }
}

TEST(PortfolioRule, ThresholdsLieBetweenNeighbours) {
  const std::vector<Problem> problems = {matmul_problem(10, 7, 1), matmul_problem(1000, 7, 3),
                                         matmul_problem(1001, 7, 1)};
  bool wide = false, narrow = false;
  for (const RuleCondition& one : rule_conditions(spec(), problems)) {
    if (one.kind != RuleCondition::Kind::at_least ||
        one.dimensions != std::vector<std::string>{"m"})
      continue;
    EXPECT_NE(one.holds(problems[0]), one.holds(problems[2])) << one.number;
    wide = wide || one.number == 100;
    narrow = narrow || one.number == 1001;
  }
  EXPECT_TRUE(wide) << "few digits where there is room";
  EXPECT_TRUE(narrow);
}

TEST(PortfolioRule, LeavingOutTellsWhatIsLearnedByHeart) {
  // Winners by chance: a rule can fit them, and knows nothing of others.
  Random random(2);
  Case made = some_case(40, 6);
  made.matrix = PortfolioMatrix(40, 3);
  for (std::size_t p = 0; p < 40; ++p) {
    const std::size_t best = random.below(3);
    for (std::size_t c = 0; c < 3; ++c) made.matrix.set(p, c, c == best ? 0 : 0.5, true);
  }
  PortfolioInput input;
  input.tuned = 40;
  input.problems = made.problems;
  input.configurations.resize(3);
  input.matrix = made.matrix;
  const PortfolioChoice choice = choose_portfolio(input, spec(), 3);
  EXPECT_NEAR(choice.best_of.geometric_mean, 1, 1e-9);
  EXPECT_LT(choice.left_out.geometric_mean, 0.80);

  const Case real = some_case(80, 8);
  input.tuned = 80;
  input.problems = real.problems;
  input.matrix = real.matrix;
  const PortfolioChoice good = choose_portfolio(input, spec(), 3);
  EXPECT_GT(good.left_out.geometric_mean, 0.93);
  EXPECT_GE(good.fitted.geometric_mean, good.left_out.geometric_mean - 0.02);
  double shares = 0;
  for (const double share : good.share) shares += share;
  EXPECT_NEAR(shares, 1, 1e-9);
}

}  // namespace
}  // namespace tunebook
