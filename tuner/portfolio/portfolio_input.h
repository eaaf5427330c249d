#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.h"
#include "db/time_model.h"
#include "db/training.h"
#include "portfolio/portfolio.h"

namespace tunebook {

// A shape that matters, and how much.
struct WeightedProblem {
  Problem problem;
  double weight = 1;
};

// What a portfolio is chosen from: problems and the configurations that were found right, with what
// each costs on each problem. The first rows are the book's problems that have a verified time; the
// others are imagined (portfolio_input() says which and why).
struct PortfolioInput {
  std::size_t tuned = 0;                      // rows that are the book's
  std::vector<Problem> problems;              // rows of the matrix
  std::vector<Configuration> configurations;  // columns
  std::vector<double> best_us;                // per row of the book, of one launch
  PortfolioMatrix matrix;
  double measured_share = 0;  // of the valid pairs in the book's rows
};

// A pair that was timed costs what it took. One that was not costs what `model` predicts, though
// not less than what the model's own first choices lose (loss.front().predicted_mean); without a
// model as much as the slowest configuration that was timed on the problem, which is careful: a
// configuration is not chosen for what nobody measured. Pairs that the declaration or the device's
// limits exclude are invalid. Of more than kMaxPortfolioCandidates configurations those that were
// best on some problem count, then those that lost least where they were timed.
//
// A book has few problems, and other shapes divide by other numbers: so rows are imagined, within
// the sizes that the book has. With a model they say what it knows of other shapes, and together
// count as much as the book's; without one a configuration costs there what it did on average, and
// they count a tenth: enough that something is chosen which runs shapes of every divisibility.
//
// `asked`: each counts for the nearest row of the book with the same categories (none: the nearest
// by sizes), and with a model also as a row of its own instead of imagined ones. Empty: all count
// alike.
inline constexpr std::size_t kMaxPortfolioCandidates = 2048;
PortfolioInput portfolio_input(const TrainingGroup& group, const TimeModel* model,
                               const std::vector<WeightedProblem>& asked = {});

// Reads a file of shapes that matter, which is one of
// - a JSON array, or lines, of {"problem": {"m": 1, ...}, "weight": 2.5}; without a weight 1;
// - a misses log (LookupOptions::misses_log), where each line is one question: those of the kernel
//   count.
// Categories that are left out are the declaration's defaults; another data type than `dtype` is
// passed over. Equal problems are put together, the heaviest first. Throws InputError with the
// line: no JSON, an unknown dimension (with the nearest name), a weight that is not a positive
// number; or if no entry counts.
std::vector<WeightedProblem> read_weights(const std::filesystem::path& file, const KernelSpec& spec,
                                          const std::string& dtype);

}  // namespace tunebook
