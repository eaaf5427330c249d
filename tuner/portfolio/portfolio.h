#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tunebook {

// What each configuration costs on each problem: the logarithm of its time over the best one's, at
// least 0. Sums of logarithms are what a geometric mean of speeds is made of.
struct PortfolioMatrix {
  // Of a configuration that is not valid, or that loses more than anybody would use: 999/1000.
  static constexpr double kMaxCost = 6.907755278982137;

  std::size_t problems = 0, configurations = 0;
  std::vector<double> cost;         // [problem * configurations + configuration], in [0, kMaxCost]
  std::vector<std::uint8_t> valid;  // likewise; an invalid one costs kMaxCost
  std::vector<std::uint8_t> measured;  // likewise; else the cost is an estimate
  std::vector<double> weights;         // one per problem, at least 0; 0: it does not count

  PortfolioMatrix() = default;
  // All invalid, all weights 1.
  PortfolioMatrix(std::size_t problem_count, std::size_t configuration_count);

  double at(std::size_t problem, std::size_t configuration) const {
    return cost[problem * configurations + configuration];
  }
  bool is_valid(std::size_t problem, std::size_t configuration) const {
    return valid[problem * configurations + configuration] != 0;
  }
  void set(std::size_t problem, std::size_t configuration, double value, bool was_measured);
  double total_weight() const;
};

// What share of the speed a mean cost is: 0.1 means that the best takes 0.9 of the time.
double lost_share(double mean_cost);

// The weighted mean over the problems of the least cost among `chosen`.
double cost_of(const PortfolioMatrix& matrix, const std::vector<std::size_t>& chosen);

// At most `size` configurations that together cost least, in the order in which they were found to
// help: greedy selection from several first choices, then exchanges of one configuration while that
// helps. Fewer if more would not help. The same for each call; of equals the lower index.
// `starts`: so many first choices are tried.
std::vector<std::size_t> choose_configurations(const PortfolioMatrix& matrix, std::size_t size,
                                               std::size_t starts = 6);

}  // namespace tunebook
