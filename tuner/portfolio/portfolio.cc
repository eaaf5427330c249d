#include "portfolio/portfolio.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tunebook {
namespace {

// An improvement below this is rounding.
constexpr double kLeastGain = 1e-9;
// Exchanges nearly always end after three or four rounds; this bounds the time.
constexpr int kMaxRounds = 20;

class Selection {
 public:
  Selection(const PortfolioMatrix& matrix, std::size_t size, std::size_t starts)
      : matrix_(matrix), size_(size), starts_(starts) {
    for (std::size_t p = 0; p < matrix.problems; ++p) {
      if (matrix.weights[p] > 0) counting_.push_back(p);
    }
  }

  std::vector<std::size_t> run() {
    if (counting_.empty() || matrix_.configurations == 0 || size_ == 0) return {};
    std::vector<std::size_t> best;
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t first : first_choices()) {
      std::vector<std::size_t> chosen = {first};
      grow(chosen);
      exchange(chosen);
      const double cost = total(chosen);
      if (cost < least - kLeastGain) {
        least = cost;
        best = std::move(chosen);
      }
    }
    return in_order_of_help(best);
  }

 private:
  double weighted(std::size_t problem, double cost) const {
    return matrix_.weights[problem] * cost;
  }

  double total(const std::vector<std::size_t>& chosen) const {
    double sum = 0;
    for (const std::size_t p : counting_) sum += weighted(p, least_of(p, chosen));
    return sum;
  }

  double least_of(std::size_t problem, const std::vector<std::size_t>& chosen) const {
    double least = PortfolioMatrix::kMaxCost;
    for (const std::size_t c : chosen) least = std::min(least, matrix_.at(problem, c));
    return least;
  }

  // The configuration that brings the sum down most, given what each problem costs already.
  std::size_t best_addition(const std::vector<double>& standing, double& least) const {
    std::size_t best = 0;
    least = std::numeric_limits<double>::infinity();
    std::vector<double> sums(matrix_.configurations, 0.0);
    for (std::size_t i = 0; i < counting_.size(); ++i) {
      const double* row = &matrix_.cost[counting_[i] * matrix_.configurations];
      const double weight = matrix_.weights[counting_[i]];
      for (std::size_t c = 0; c < matrix_.configurations; ++c) {
        sums[c] += weight * std::min(row[c], standing[i]);
      }
    }
    for (std::size_t c = 0; c < matrix_.configurations; ++c) {
      if (sums[c] < least - kLeastGain) {
        least = sums[c];
        best = c;
      }
    }
    return best;
  }

  std::vector<double> standing(const std::vector<std::size_t>& chosen) const {
    std::vector<double> costs;
    for (const std::size_t p : counting_) costs.push_back(least_of(p, chosen));
    return costs;
  }

  std::vector<std::size_t> first_choices() const {
    std::vector<std::pair<double, std::size_t>> alone;
    for (std::size_t c = 0; c < matrix_.configurations; ++c) alone.emplace_back(total({c}), c);
    const std::size_t count = std::min(starts_, alone.size());
    const auto end = alone.begin() + static_cast<std::ptrdiff_t>(count);
    std::partial_sort(alone.begin(), end, alone.end());
    std::vector<std::size_t> first;
    for (auto one = alone.begin(); one != end; ++one) first.push_back(one->second);
    return first;
  }

  void grow(std::vector<std::size_t>& chosen) const {
    double cost = total(chosen);
    while (chosen.size() < size_) {
      double least = 0;
      const std::size_t next = best_addition(standing(chosen), least);
      if (least > cost - kLeastGain) return;
      chosen.push_back(next);
      cost = least;
    }
  }

  void exchange(std::vector<std::size_t>& chosen) const {
    double cost = total(chosen);
    bool changed = true;
    for (int round = 0; changed && round < kMaxRounds; ++round) {
      changed = false;
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        std::vector<std::size_t> others = chosen;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        double least = 0;
        const std::size_t better = best_addition(standing(others), least);
        if (least < cost - kLeastGain) {
          chosen[i] = better;
          cost = least;
          changed = true;
        }
      }
    }
    grow(chosen);
  }

  std::vector<std::size_t> in_order_of_help(std::vector<std::size_t> chosen) const {
    std::sort(chosen.begin(), chosen.end());
    std::vector<std::size_t> ordered;
    while (!chosen.empty()) {
      auto best = chosen.begin();
      double least = std::numeric_limits<double>::infinity();
      for (auto one = chosen.begin(); one != chosen.end(); ++one) {
        std::vector<std::size_t> with = ordered;
        with.push_back(*one);
        const double cost = total(with);
        if (cost < least - kLeastGain) {
          least = cost;
          best = one;
        }
      }
      ordered.push_back(*best);
      chosen.erase(best);
    }
    return ordered;
  }

  const PortfolioMatrix& matrix_;
  std::size_t size_, starts_;
  std::vector<std::size_t> counting_;  // problems with a weight
};

}  // namespace

PortfolioMatrix::PortfolioMatrix(std::size_t problem_count, std::size_t configuration_count)
    : problems(problem_count),
      configurations(configuration_count),
      cost(problem_count * configuration_count, kMaxCost),
      valid(problem_count * configuration_count, 0),
      measured(problem_count * configuration_count, 0),
      weights(problem_count, 1.0) {}

void PortfolioMatrix::set(std::size_t problem, std::size_t configuration, double value,
                          bool was_measured) {
  const std::size_t place = problem * configurations + configuration;
  cost[place] = std::clamp(value, 0.0, kMaxCost);
  valid[place] = 1;
  measured[place] = was_measured ? 1 : 0;
}

double PortfolioMatrix::total_weight() const {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

double lost_share(double mean_cost) { return 1 - std::exp(-mean_cost); }

double cost_of(const PortfolioMatrix& matrix, const std::vector<std::size_t>& chosen) {
  double sum = 0;
  for (std::size_t p = 0; p < matrix.problems; ++p) {
    double least = PortfolioMatrix::kMaxCost;
    for (const std::size_t c : chosen) least = std::min(least, matrix.at(p, c));
    sum += matrix.weights[p] * least;
  }
  const double weight = matrix.total_weight();
  return weight > 0 ? sum / weight : 0;
}

std::vector<std::size_t> choose_configurations(const PortfolioMatrix& matrix, std::size_t size,
                                               std::size_t starts) {
  return Selection(matrix, size, starts).run();
}

}  // namespace tunebook
