#pragma once

#include <cstddef>
#include <vector>

#include "core/spec.h"
#include "portfolio/portfolio_input.h"
#include "portfolio/portfolio_rule.h"

namespace tunebook {

// How fast a choice is: the time of the best configuration over that of the picked one.
struct PortfolioSpeed {
  double geometric_mean = 0;  // by weight
  double worst = 0;           // of the problems that have a weight
};

struct PortfolioChoice {
  std::vector<std::size_t> chosen;  // columns of the input's matrix, in the order of their help
  PortfolioRule rule;               // orders are indices into `chosen`
  std::vector<double> share;        // of the weight that the rule gives to each
  PortfolioSpeed best_of;           // were the fastest of them picked each time
  PortfolioSpeed fitted;            // by the rule, on the problems that it was made from
  PortfolioSpeed left_out;  // by rules that were made without the problem that they are asked
};

// Chooses at most `size` configurations and the rule. The rule is as deep as does best on problems
// that were left out; of nearly equal ones the flattest. Throws InputError if no problem has a
// weight.
PortfolioChoice choose_portfolio(const PortfolioInput& input, const KernelSpec& spec,
                                 std::size_t size);

}  // namespace tunebook
