// Selection against the exhaustive optimum, on small matrices.

#include "portfolio/portfolio.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.h"

namespace tunebook {
namespace {

PortfolioMatrix random_matrix(Random& random, std::size_t problems, std::size_t configurations) {
  PortfolioMatrix matrix(problems, configurations);
  for (std::size_t p = 0; p < problems; ++p) {
    const std::size_t best = random.below(configurations);
    for (std::size_t c = 0; c < configurations; ++c) {
      if (random.below(6) == 0 && c != best) continue;  // invalid there
      matrix.set(p, c, c == best ? 0 : static_cast<double>(random.below(1000)) / 500, true);
    }
    matrix.weights[p] = 1 + static_cast<double>(random.below(4));
  }
  return matrix;
}

// The least cost of any `size` configurations, by trying all.
double optimum(const PortfolioMatrix& matrix, std::size_t size, std::size_t from = 0,
               std::vector<std::size_t> chosen = {}) {
  if (chosen.size() == size || from == matrix.configurations) return cost_of(matrix, chosen);
  const double without = optimum(matrix, size, from + 1, chosen);
  chosen.push_back(from);
  return std::min(without, optimum(matrix, size, from + 1, chosen));
}

TEST(Portfolio, IsTheOptimumOfSmallMatricesNearlyAlwaysAndNeverFarFromIt) {
  Random random(7);
  int optimal = 0;
  constexpr int kCases = 200;
  for (int i = 0; i < kCases; ++i) {
    const PortfolioMatrix matrix = random_matrix(random, 3 + random.below(10), 4 + random.below(7));
    const std::size_t size = 1 + random.below(4);
    const std::vector<std::size_t> chosen = choose_configurations(matrix, size);
    EXPECT_LE(chosen.size(), size);
    const double least = optimum(matrix, size), found = cost_of(matrix, chosen);
    EXPECT_GE(found, least - 1e-9);
    EXPECT_LE(found, 1.05 * least + 1e-9) << "case " << i;
    optimal += found <= least + 1e-9 ? 1 : 0;
  }
  EXPECT_GE(optimal, kCases * 95 / 100);
}

// Greedy alone takes the middle one first, which then is of no use.
TEST(Portfolio, ExchangesUndoAFirstChoiceThatWasGreedy) {
  PortfolioMatrix matrix(4, 3);
  const double costs[4][3] = {{0.0, 0.5, 0.9}, {0.0, 0.5, 0.9}, {0.9, 0.5, 0.0}, {0.9, 0.5, 0.0}};
  for (std::size_t p = 0; p < 4; ++p) {
    for (std::size_t c = 0; c < 3; ++c) matrix.set(p, c, costs[p][c], true);
  }
  matrix.cost[1] = 0.2;  // alone, the middle one is now the cheapest
  EXPECT_EQ(choose_configurations(matrix, 1), (std::vector<std::size_t>{1}));
  std::vector<std::size_t> two = choose_configurations(matrix, 2);
  std::sort(two.begin(), two.end());
  EXPECT_EQ(two, (std::vector<std::size_t>{0, 2}));
}

TEST(Portfolio, TakesNoMoreThanHelpsAndNothingForProblemsWithoutWeight) {
  PortfolioMatrix matrix(2, 3);
  matrix.set(0, 0, 0, true);
  matrix.set(1, 0, 0, true);
  matrix.set(0, 1, 0.1, true);
  EXPECT_EQ(choose_configurations(matrix, 3), (std::vector<std::size_t>{0}));
  matrix.set(1, 2, 0, true);
  matrix.weights = {0, 1};
  EXPECT_EQ(choose_configurations(matrix, 1), (std::vector<std::size_t>{0}))
      << "of equals the first";
  matrix.weights = {0, 0};
  EXPECT_TRUE(choose_configurations(matrix, 2).empty());
  EXPECT_TRUE(choose_configurations(PortfolioMatrix(0, 0), 2).empty());
}

TEST(Portfolio, CostsAreLogarithmsOfSpeed) {
  PortfolioMatrix matrix(2, 2);
  matrix.set(0, 0, std::log(2.0), true);  // half the speed
  matrix.set(1, 0, 0, true);
  EXPECT_NEAR(1 - lost_share(cost_of(matrix, {0})), std::sqrt(0.5), 1e-12);
  matrix.set(0, 1, 100, true);
  EXPECT_EQ(matrix.at(0, 1), PortfolioMatrix::kMaxCost);
  EXPECT_NEAR(lost_share(cost_of(matrix, {})), 0.999, 1e-9);
}

}  // namespace
}  // namespace tunebook
