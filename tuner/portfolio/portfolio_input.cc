#include "portfolio/portfolio_input.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "db/lookup_check.h"
#include "portfolio/portfolio_shapes.h"

namespace tunebook {
namespace {

// As models have it: a configuration that loses more is not told from one that loses this.
constexpr double kMaxLoss = 0.999;

// Some hundred shapes show what divides by what, and where sizes change the choice.
constexpr std::size_t kImagined = 200;
constexpr std::size_t kMaxAsked = 400;
// Of the weight of the book's own problems.
constexpr double kImaginedShare = 1, kImaginedShareWithoutModel = 0.1;

struct Seen {
  bool verified = false;
  double most_lost = 0, sum = 0;
  std::int64_t timed = 0, registers = -1, shared_bytes = -1;
  bool best_somewhere = false;
};

bool is_timed(const TrainingTrial& trial) {
  return (trial.outcome == Outcome::ok || trial.outcome == Outcome::abandoned) &&
         trial.median_us > 0;
}

class InputBuilder {
 public:
  InputBuilder(const TrainingGroup& group, const TimeModel* model,
               const std::vector<WeightedProblem>& asked)
      : group_(group), model_(model), asked_(asked) {}

  PortfolioInput run() {
    find_best_times();
    look_at_configurations();
    choose_columns();
    result_.tuned = result_.problems.size();
    if (result_.tuned == 0) return std::move(result_);
    const std::vector<double> weights = weigh_and_imagine();
    result_.matrix = PortfolioMatrix(result_.problems.size(), columns_.size());
    result_.matrix.weights = weights;
    for (const std::uint32_t column : columns_) {
      result_.configurations.push_back(group_.configurations[column]);
    }
    prepare_features();
    fill_measured();
    fill_holes();
    return std::move(result_);
  }

 private:
  void find_best_times() {
    std::vector<double> best(group_.problems.size(), std::numeric_limits<double>::infinity());
    for (const TrainingTrial& trial : group_.trials) {
      const bool counts = trial.outcome == Outcome::ok && trial.verified && trial.median_us > 0;
      if (counts && !group_.proved_bad[trial.configuration]) {
        best[trial.problem] = std::min(best[trial.problem], trial.median_us);
      }
    }
    row_of_.assign(group_.problems.size(), kNone);
    for (std::size_t p = 0; p < best.size(); ++p) {
      if (!std::isfinite(best[p])) continue;
      row_of_[p] = result_.problems.size();
      result_.problems.push_back(group_.problems[p]);
      result_.best_us.push_back(best[p]);
    }
  }

  double cost_of_time(std::size_t row, double median_us) const {
    return std::log(std::max(1.0, median_us / result_.best_us[row]));
  }

  void look_at_configurations() {
    seen_.resize(group_.configurations.size());
    for (const TrainingTrial& trial : group_.trials) {
      Seen& seen = seen_[trial.configuration];
      seen.registers = std::max(seen.registers, trial.registers);
      seen.shared_bytes = std::max(seen.shared_bytes, trial.shared_bytes);
      const std::size_t row = row_of_[trial.problem];
      if (row == kNone || !is_timed(trial)) continue;
      const double cost = cost_of_time(row, trial.median_us);
      seen.verified = seen.verified || (trial.outcome == Outcome::ok && trial.verified);
      seen.best_somewhere = seen.best_somewhere || cost == 0;
      seen.sum += cost;
      ++seen.timed;
    }
  }

  void choose_columns() {
    for (std::uint32_t c = 0; c < group_.configurations.size(); ++c) {
      if (seen_[c].verified && !group_.proved_bad[c]) columns_.push_back(c);
    }
    if (columns_.size() <= kMaxPortfolioCandidates) return;
    std::stable_sort(columns_.begin(), columns_.end(), [&](std::uint32_t x, std::uint32_t y) {
      const auto rank = [&](std::uint32_t c) {
        return std::pair(!seen_[c].best_somewhere,
                         seen_[c].sum / static_cast<double>(seen_[c].timed));
      };
      return rank(x) < rank(y);
    });
    columns_.resize(kMaxPortfolioCandidates);
    std::sort(columns_.begin(), columns_.end());
  }

  // Weights of the book's rows, then of those that it appends to them.
  std::vector<double> weigh_and_imagine() {
    const std::vector<Problem> book = result_.problems;
    std::vector<double> weights(result_.tuned, asked_.empty() ? 1.0 : 0.0);
    for (const WeightedProblem& one : asked_) {
      weights[nearest_problem(group_.spec, book, one.problem)] += one.weight;
    }
    std::vector<WeightedProblem> others;
    if (model_ != nullptr && !asked_.empty()) {
      others.assign(asked_.begin(), asked_.begin() + static_cast<std::ptrdiff_t>(
                                                         std::min(asked_.size(), kMaxAsked)));
    } else {
      for (Problem& problem : imagined_problems(group_.spec, book, kImagined)) {
        others.push_back({std::move(problem), 1});
      }
    }
    const double share = model_ != nullptr ? kImaginedShare : kImaginedShareWithoutModel;
    double of_book = 0, of_others = 0;
    for (const double weight : weights) of_book += weight;
    for (const WeightedProblem& one : others) of_others += one.weight;
    for (WeightedProblem& one : others) {
      result_.problems.push_back(std::move(one.problem));
      weights.push_back(share * of_book * one.weight / of_others);
    }
    return weights;
  }

  void prepare_features() {
    if (model_ == nullptr) return;
    for (const std::string& text : model_->features) {
      features_.push_back(Expression::compile(text, group_.spec.names));
    }
  }

  void fill_measured() {
    std::vector<std::size_t> column_of(group_.configurations.size(), kNone);
    for (std::size_t i = 0; i < columns_.size(); ++i) column_of[columns_[i]] = i;
    slowest_.assign(result_.problems.size(), 0.0);
    for (const TrainingTrial& trial : group_.trials) {
      const std::size_t row = row_of_[trial.problem], column = column_of[trial.configuration];
      if (row == kNone || !is_timed(trial)) continue;
      const double cost = cost_of_time(row, trial.median_us);
      slowest_[row] = std::max(slowest_[row], cost);
      if (column != kNone) result_.matrix.set(row, column, cost, true);
    }
  }

  void fill_holes() {
    std::size_t valid = 0, measured = 0;
    std::vector<float> values(features_.size());
    for (std::size_t row = 0; row < result_.problems.size(); ++row) {
      const Problem& problem = result_.problems[row];
      KernelSpec::Scope scope = group_.spec.scope(problem, group_.device);
      for (std::size_t column = 0; column < columns_.size(); ++column) {
        const std::size_t place = row * columns_.size() + column;
        if (result_.matrix.measured[place] == 0) {
          if (!usable(problem, column)) continue;
          result_.matrix.set(row, column, guess(scope, row, column, values), false);
        }
        valid += row < result_.tuned ? 1 : 0;
        measured += result_.matrix.measured[place];
      }
    }
    result_.measured_share =
        valid == 0 ? 0 : static_cast<double>(measured) / static_cast<double>(valid);
  }

  bool usable(const Problem& problem, std::size_t column) const {
    const Seen& seen = seen_[columns_[column]];
    BlockNeeds needs;
    if (seen.registers >= 0) needs.registers_per_thread = seen.registers;
    if (seen.shared_bytes >= 0) needs.shared_bytes = seen.shared_bytes;
    return check_candidate(group_.spec, problem, result_.configurations[column], group_.device,
                           needs)
        .usable();
  }

  double guess(KernelSpec::Scope& scope, std::size_t row, std::size_t column,
               std::vector<float>& values) const {
    if (model_ == nullptr && row < result_.tuned) return slowest_[row];
    if (model_ == nullptr) {
      const Seen& seen = seen_[columns_[column]];
      return seen.sum / static_cast<double>(seen.timed);
    }
    group_.spec.bind(scope, result_.configurations[column]);
    for (std::size_t i = 0; i < features_.size(); ++i) {
      values[i] = feature_value(features_[i], scope);
    }
    const double predicted =
        static_cast<double>(model_->predict(values.data())) * TimeModel::kLossUnit;
    return -std::log(1 - std::clamp(predicted, least_predicted(), kMaxLoss));
  }

  // The least of many predictions is too low by chance. So none counts as better than what the
  // model's own first choices were found to lose.
  double least_predicted() const {
    return model_->loss.empty() ? 0
                                : std::clamp(model_->loss.front().predicted_mean, 0.0, kMaxLoss);
  }

  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  const TrainingGroup& group_;
  const TimeModel* model_;
  const std::vector<WeightedProblem>& asked_;
  PortfolioInput result_;
  std::vector<std::size_t> row_of_;     // by the group's problem
  std::vector<Seen> seen_;              // by the group's configuration
  std::vector<std::uint32_t> columns_;  // the group's configuration
  std::vector<double> slowest_;         // per row
  std::vector<Expression> features_;
};

}  // namespace

PortfolioInput portfolio_input(const TrainingGroup& group, const TimeModel* model,
                               const std::vector<WeightedProblem>& asked) {
  return InputBuilder(group, model, asked).run();
}

}  // namespace tunebook
