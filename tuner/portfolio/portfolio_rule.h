#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/problem.h"
#include "core/spec.h"
#include "portfolio/portfolio.h"

namespace tunebook {

// One question of a rule about a problem.
struct RuleCondition {
  enum class Kind { at_least, divisible, category };
  Kind kind = Kind::at_least;
  std::vector<std::string> dimensions;  // at_least: sizes whose product counts; else one
  std::int64_t number = 0;              // at_least, divisible: by it
  std::string value;                    // category

  bool holds(const Problem& problem) const;
  nlohmann::ordered_json to_json() const;
  friend bool operator==(const RuleCondition&, const RuleCondition&) = default;
};

// The rule that picks among the configurations of a portfolio: a decision tree whose leaves are
// orders of preference; the first configuration of the leaf that is valid for the problem counts.
struct PortfolioRule {
  struct Node {
    std::optional<RuleCondition> condition;  // nothing: a leaf
    std::size_t yes = 0, no = 0;             // indices of later nodes
    // Every index into the portfolio, the best first. fit_rule() gives inner nodes one, too.
    std::vector<std::size_t> order;
  };
  std::vector<Node> nodes;  // the first one is the root; at least one

  static constexpr int kMaxDepth = 6;

  // Where the problem ends after at most `depth` questions.
  const Node& leaf(const Problem& problem, int depth = std::numeric_limits<int>::max()) const;
  // The same rule with at most `depth` questions in a row, and orders on leaves only.
  PortfolioRule cut(int depth) const;
  // Index into the portfolio; nothing if none of them is valid.
  std::optional<std::size_t> pick(const Problem& problem,
                                  const std::function<bool(std::size_t)>& valid) const;
  int depth() const;
  nlohmann::ordered_json to_json() const;
};

// The questions that a rule may ask: every size, and the product of every two and of all, against
// some middles between what `problems` have; divisibility by 2, 4, 8 and 16; categories.
std::vector<RuleCondition> rule_conditions(const KernelSpec& spec,
                                           const std::vector<Problem>& problems);

// Grows a tree of at most `depth` by what picks cost on the matrix's problems, counting what runs
// instead where a pick is not valid. `chosen`: columns of the matrix; `problems`: its rows.
PortfolioRule fit_rule(const PortfolioMatrix& matrix, const std::vector<std::size_t>& chosen,
                       const std::vector<Problem>& problems,
                       const std::vector<RuleCondition>& conditions, int depth);

// What the rule's pick costs on a row of the matrix, after at most `depth` questions; kMaxCost
// where it picks nothing.
double rule_cost(const PortfolioRule& rule, const PortfolioMatrix& matrix,
                 const std::vector<std::size_t>& chosen, const Problem& problem, std::size_t row,
                 int depth = PortfolioRule::kMaxDepth);

// How good portfolios of `size` are on problems that they were not made from: each of the first
// `count` rows is left out once (more than kMaxFolds: in groups, dealt out in turn), configurations
// and rule are chosen anew from the others, and what is picked then counts. For each of the depths,
// which ascend, the costs of these rows.
inline constexpr std::size_t kMaxFolds = 40;
std::vector<std::vector<double>> left_out_costs(const PortfolioMatrix& matrix, std::size_t count,
                                                std::size_t size,
                                                const std::vector<Problem>& problems,
                                                const std::vector<RuleCondition>& conditions,
                                                const std::vector<int>& depths);

}  // namespace tunebook
