#include "portfolio/portfolio_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace tunebook {
namespace {

// A question must save this much of the mean cost to be worth a line.
constexpr double kLeastGain = 0.001;
// A leaf of fewer problems would learn one of them by heart.
constexpr std::size_t kLeastProblems = 2;
// So many thresholds of one size or product are tried: more would only tell neighbours apart.
constexpr std::size_t kMaxThresholds = 24;
// Products beyond this are not told apart exactly by doubles.
constexpr double kMaxThreshold = 9007199254740992.0;  // 2^53

double product(const Problem& problem, const std::vector<std::string>& dimensions) {
  double result = 1;
  for (const std::string& name : dimensions) {
    result *= static_cast<double>(std::get<std::int64_t>(problem.at(name)));
  }
  return result;
}

// Between two neighbours, with few digits: somebody will read it.
std::int64_t middle(double low, double high) {
  const double exact = std::sqrt(low * high);
  for (double unit = std::pow(10.0, std::floor(std::log10(exact))); unit >= 1; unit /= 10) {
    const double rounded = std::round(exact / unit) * unit;
    if (rounded > low && rounded <= high) return static_cast<std::int64_t>(rounded);
  }
  return static_cast<std::int64_t>(std::ceil(std::nextafter(low, high)));
}

void add_thresholds(std::vector<RuleCondition>& conditions, const std::vector<Problem>& problems,
                    const std::vector<std::string>& dimensions) {
  std::set<double> distinct;
  for (const Problem& problem : problems) distinct.insert(product(problem, dimensions));
  const std::vector<double> values(distinct.begin(), distinct.end());
  if (values.size() < 2) return;
  const std::size_t gaps = values.size() - 1, count = std::min(gaps, kMaxThresholds);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = (2 * i + 1) * gaps / (2 * count);  // evenly spread over the gaps
    if (values[at + 1] > kMaxThreshold) break;
    conditions.push_back(
        {RuleCondition::Kind::at_least, dimensions, middle(values[at], values[at + 1]), ""});
  }
}

class Tree {
 public:
  Tree(const PortfolioMatrix& matrix, const std::vector<std::size_t>& chosen,
       const std::vector<Problem>& problems, const std::vector<RuleCondition>& conditions)
      : matrix_(matrix), chosen_(chosen), conditions_(conditions) {
    holds_.resize(conditions.size());
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      for (const Problem& problem : problems) holds_[i].push_back(conditions[i].holds(problem));
    }
    // What counts where a pick is not valid while a tree grows: the dearest that is.
    for (std::size_t p = 0; p < matrix.problems; ++p) {
      double dearest = -1;
      for (const std::size_t c : chosen) {
        if (matrix.is_valid(p, c)) dearest = std::max(dearest, matrix.at(p, c));
      }
      instead_.push_back(dearest < 0 ? PortfolioMatrix::kMaxCost : dearest);
    }
  }

  PortfolioRule grow(int depth) {
    std::vector<std::size_t> all;
    for (std::size_t p = 0; p < matrix_.problems; ++p) {
      if (matrix_.weights[p] > 0) all.push_back(p);
    }
    general_ = order(all, {});
    split(all, depth);
    return std::move(rule_);
  }

 private:
  double cost(std::size_t problem, std::size_t index) const {
    const std::size_t c = chosen_[index];
    return matrix_.is_valid(problem, c) ? matrix_.at(problem, c) : instead_[problem];
  }

  double least_cost(const std::vector<std::size_t>& problems) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      double sum = 0;
      for (const std::size_t p : problems) sum += matrix_.weights[p] * cost(p, i);
      least = std::min(least, sum);
    }
    return least;
  }

  // The best for these problems, then the best for those where it is not valid, and so on; what
  // remains in the general order.
  std::vector<std::size_t> order(std::vector<std::size_t> problems,
                                 const std::vector<std::size_t>& general) const {
    std::vector<std::size_t> result;
    std::vector<bool> taken(chosen_.size(), false);
    const auto take = [&](std::size_t index) {
      taken[index] = true;
      result.push_back(index);
    };
    while (!problems.empty() && result.size() < chosen_.size()) {
      std::size_t best = chosen_.size();
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < chosen_.size(); ++i) {
        if (taken[i]) continue;
        double sum = 0;
        for (const std::size_t p : problems) sum += matrix_.weights[p] * cost(p, i);
        if (sum < least) {
          least = sum;
          best = i;
        }
      }
      take(best);
      std::erase_if(problems, [&](std::size_t p) { return matrix_.is_valid(p, chosen_[best]); });
    }
    for (const std::size_t i : general) {
      if (!taken[i]) take(i);
    }
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (!taken[i]) take(i);
    }
    return result;
  }

  std::size_t split(const std::vector<std::size_t>& problems, int depth) {
    const std::size_t place = rule_.nodes.size();
    rule_.nodes.emplace_back();
    const double unsplit = least_cost(problems);
    const double worthwhile = kLeastGain * matrix_.total_weight();
    double least = unsplit - worthwhile;
    std::optional<std::size_t> best;
    for (std::size_t i = 0; depth > 0 && i < conditions_.size(); ++i) {
      const auto [yes, no] = parts(problems, i);
      if (yes.size() < kLeastProblems || no.size() < kLeastProblems) continue;
      const double sum = least_cost(yes) + least_cost(no);
      if (sum < least) {
        least = sum;
        best = i;
      }
    }
    rule_.nodes[place].order = order(problems, general_);
    if (!best) return place;
    const auto [yes, no] = parts(problems, *best);
    rule_.nodes[place].condition = conditions_[*best];
    const std::size_t first = split(yes, depth - 1);
    const std::size_t second = split(no, depth - 1);
    rule_.nodes[place].yes = first;
    rule_.nodes[place].no = second;
    return place;
  }

  std::pair<std::vector<std::size_t>, std::vector<std::size_t>> parts(
      const std::vector<std::size_t>& problems, std::size_t condition) const {
    std::pair<std::vector<std::size_t>, std::vector<std::size_t>> result;
    for (const std::size_t p : problems) {
      (holds_[condition][p] ? result.first : result.second).push_back(p);
    }
    return result;
  }

  const PortfolioMatrix& matrix_;
  const std::vector<std::size_t>& chosen_;
  const std::vector<RuleCondition>& conditions_;
  std::vector<std::vector<bool>> holds_;  // [condition][problem]
  std::vector<double> instead_;           // per problem
  std::vector<std::size_t> general_;
  PortfolioRule rule_;
};

}  // namespace

bool RuleCondition::holds(const Problem& problem) const {
  if (kind == Kind::category) return to_text(problem.at(dimensions.front())) == value;
  if (kind == Kind::divisible) {
    return std::get<std::int64_t>(problem.at(dimensions.front())) % number == 0;
  }
  return product(problem, dimensions) >= static_cast<double>(number);
}

nlohmann::ordered_json RuleCondition::to_json() const {
  if (kind == Kind::category) return {{"category", dimensions.front()}, {"is", value}};
  if (kind == Kind::divisible) return {{"size", dimensions.front()}, {"divisible_by", number}};
  return {{"product", dimensions}, {"at_least", number}};
}

const PortfolioRule::Node& PortfolioRule::leaf(const Problem& problem, int depth) const {
  std::size_t at = 0;
  for (; nodes[at].condition && depth > 0; --depth) {
    at = nodes[at].condition->holds(problem) ? nodes[at].yes : nodes[at].no;
  }
  return nodes[at];
}

PortfolioRule PortfolioRule::cut(int depth) const {
  PortfolioRule result;
  const auto copy = [&](const auto& self, std::size_t from, int left) -> std::size_t {
    const std::size_t place = result.nodes.size();
    result.nodes.push_back(nodes[from]);
    if (!nodes[from].condition || left == 0) {
      result.nodes[place].condition.reset();
      return place;
    }
    result.nodes[place].order.clear();
    const std::size_t yes = self(self, nodes[from].yes, left - 1);
    const std::size_t no = self(self, nodes[from].no, left - 1);
    result.nodes[place].yes = yes;
    result.nodes[place].no = no;
    return place;
  };
  copy(copy, 0, depth);
  return result;
}

std::optional<std::size_t> PortfolioRule::pick(
    const Problem& problem, const std::function<bool(std::size_t)>& valid) const {
  for (const std::size_t index : leaf(problem).order) {
    if (valid(index)) return index;
  }
  return std::nullopt;
}

int PortfolioRule::depth() const {
  std::vector<int> depths(nodes.size(), 0);
  int most = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {  // children come after their parents
    most = std::max(most, depths[i]);
    if (nodes[i].condition) depths[nodes[i].yes] = depths[nodes[i].no] = depths[i] + 1;
  }
  return most;
}

nlohmann::ordered_json PortfolioRule::to_json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Node& node : nodes) {
    if (node.condition) {
      list.push_back({{"if", node.condition->to_json()}, {"yes", node.yes}, {"no", node.no}});
    } else {
      list.push_back({{"order", node.order}});
    }
  }
  return list;
}

std::vector<RuleCondition> rule_conditions(const KernelSpec& spec,
                                           const std::vector<Problem>& problems) {
  std::vector<RuleCondition> conditions;
  std::vector<std::string> sizes;
  for (const Dimension& dimension : spec.dimensions) {
    if (!dimension.categorical) sizes.push_back(dimension.name);
  }
  for (const std::string& size : sizes) add_thresholds(conditions, problems, {size});
  for (const std::string& size : sizes) {
    for (const std::int64_t divisor : {2, 4, 8, 16}) {
      conditions.push_back({RuleCondition::Kind::divisible, {size}, divisor, ""});
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::size_t j = i + 1; j < sizes.size(); ++j) {
      add_thresholds(conditions, problems, {sizes[i], sizes[j]});
    }
  }
  if (sizes.size() > 2) add_thresholds(conditions, problems, sizes);
  for (const Dimension& dimension : spec.dimensions) {
    if (!dimension.categorical || dimension.name == "dtype") continue;
    for (const std::string& value : dimension.values) {
      conditions.push_back({RuleCondition::Kind::category, {dimension.name}, 0, value});
    }
  }
  return conditions;
}

PortfolioRule fit_rule(const PortfolioMatrix& matrix, const std::vector<std::size_t>& chosen,
                       const std::vector<Problem>& problems,
                       const std::vector<RuleCondition>& conditions, int depth) {
  return Tree(matrix, chosen, problems, conditions).grow(depth);
}

double rule_cost(const PortfolioRule& rule, const PortfolioMatrix& matrix,
                 const std::vector<std::size_t>& chosen, const Problem& problem, std::size_t row,
                 int depth) {
  for (const std::size_t index : rule.leaf(problem, depth).order) {
    if (matrix.is_valid(row, chosen[index])) return matrix.at(row, chosen[index]);
  }
  return PortfolioMatrix::kMaxCost;
}

std::vector<std::vector<double>> left_out_costs(const PortfolioMatrix& matrix, std::size_t count,
                                                std::size_t size,
                                                const std::vector<Problem>& problems,
                                                const std::vector<RuleCondition>& conditions,
                                                const std::vector<int>& depths) {
  // Here selection is repeated often, and from one first choice it is nearly as good.
  constexpr std::size_t kStarts = 1;
  std::vector<std::vector<double>> costs(depths.size(),
                                         std::vector<double>(count, PortfolioMatrix::kMaxCost));
  const std::size_t folds = std::min(count, kMaxFolds);
  PortfolioMatrix others = matrix;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    others.weights = matrix.weights;
    for (std::size_t p = fold; p < count; p += folds) others.weights[p] = 0;
    const std::vector<std::size_t> chosen = choose_configurations(others, size, kStarts);
    if (chosen.empty()) continue;
    const PortfolioRule rule = fit_rule(others, chosen, problems, conditions, depths.back());
    for (std::size_t i = 0; i < depths.size(); ++i) {
      for (std::size_t p = fold; p < count; p += folds) {
        costs[i][p] = rule_cost(rule, matrix, chosen, problems[p], p, depths[i]);
      }
    }
  }
  return costs;
}

}  // namespace tunebook
