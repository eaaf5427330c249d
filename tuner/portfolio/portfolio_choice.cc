#include "portfolio/portfolio_choice.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tunebook {
namespace {

// A deeper rule must save this much of the mean cost: less is chance.
constexpr double kDeeperGain = 0.005;
const std::vector<int> kDepths = {0, 1, 2, 3, 4, PortfolioRule::kMaxDepth};

double mean(const std::vector<double>& costs, const std::vector<double>& weights) {
  double sum = 0, weight = 0;
  for (std::size_t p = 0; p < costs.size(); ++p) {
    sum += weights[p] * costs[p];
    weight += weights[p];
  }
  return sum / weight;
}

PortfolioSpeed speed(const std::vector<double>& costs, const std::vector<double>& weights) {
  double most = 0;
  for (std::size_t p = 0; p < costs.size(); ++p) {
    if (weights[p] > 0) most = std::max(most, costs[p]);
  }
  return {std::exp(-mean(costs, weights)), std::exp(-most)};
}

}  // namespace

PortfolioChoice choose_portfolio(const PortfolioInput& input, const KernelSpec& spec,
                                 std::size_t size) {
  const PortfolioMatrix& matrix = input.matrix;
  PortfolioChoice choice;
  choice.chosen = choose_configurations(matrix, size);
  if (choice.chosen.empty())
    throw InputError("portfolio: no configuration is valid on a problem that counts");

  const std::vector<RuleCondition> conditions = rule_conditions(spec, input.problems);
  const auto left_out =
      left_out_costs(matrix, input.tuned, size, input.problems, conditions, kDepths);
  std::size_t best = 0;
  for (std::size_t i = 1; i < kDepths.size(); ++i) {
    const double gain = mean(left_out[best], matrix.weights) - mean(left_out[i], matrix.weights);
    if (gain > kDeeperGain) best = i;
  }
  choice.rule =
      fit_rule(matrix, choice.chosen, input.problems, conditions, kDepths[best]).cut(kDepths[best]);

  std::vector<double> least, fitted;
  choice.share.assign(choice.chosen.size(), 0.0);
  double weight = 0;
  for (std::size_t p = 0; p < input.tuned; ++p) weight += matrix.weights[p];
  for (std::size_t p = 0; p < input.tuned; ++p) {
    double cost = PortfolioMatrix::kMaxCost;
    for (const std::size_t c : choice.chosen) cost = std::min(cost, matrix.at(p, c));
    least.push_back(cost);
    fitted.push_back(rule_cost(choice.rule, matrix, choice.chosen, input.problems[p], p));
    const auto valid = [&](std::size_t i) { return matrix.is_valid(p, choice.chosen[i]); };
    if (const auto picked = choice.rule.pick(input.problems[p], valid)) {
      choice.share[*picked] += matrix.weights[p] / weight;
    }
  }
  choice.best_of = speed(least, matrix.weights);
  choice.fitted = speed(fitted, matrix.weights);
  choice.left_out = speed(left_out[best], matrix.weights);
  return choice;
}

}  // namespace tunebook
