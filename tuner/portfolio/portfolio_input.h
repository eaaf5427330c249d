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

// What a portfolio is chosen from: the tuned problems of a group and the configurations that were
// found right, with what each costs on each problem.
struct PortfolioInput {
  std::vector<Problem> problems;              // rows of the matrix: those with a verified time
  std::vector<Configuration> configurations;  // columns
  std::vector<double> best_us;                // per problem, of one launch
  PortfolioMatrix matrix;                     // weights 1
  double measured_share = 0;                  // of the valid pairs
};

// A pair that was timed costs what it took. One that was not costs what `model` predicts; without a
// model as much as the slowest configuration that was timed on the problem, which is careful: a
// configuration is not chosen for what nobody measured. Pairs that the declaration or the device's
// limits exclude are invalid. Of more than kMaxConfigurations those that were best on some problem,
// then those that lost least where they were timed.
inline constexpr std::size_t kMaxPortfolioCandidates = 4096;
PortfolioInput portfolio_input(const TrainingGroup& group, const TimeModel* model);

// Gives the problems the weights of a file, which is one of
// - a JSON array, or lines, of {"problem": {"m": 1, ...}, "weight": 2.5}; without a weight 1;
// - a misses log (LookupOptions::misses_log), where each line is one question: those of `kernel`
// count. An asked shape that is not a row counts for the nearest row with the same categories
// (none: for the nearest by sizes). Categories that are left out are the declaration's defaults;
// another data type than `dtype` is passed over. Throws InputError with the line: no JSON, an
// unknown dimension (with the nearest name), a weight that is not a positive number; or if no
// weight is left. Returns how many entries counted.
std::size_t read_weights(const std::filesystem::path& file, const KernelSpec& spec,
                         const std::string& dtype, PortfolioInput& input);

}  // namespace tunebook
