#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "db/time_model.h"
#include "learn/training_rows.h"

namespace tunebook::learn {

// What answers for one problem lost, from a model that had not seen it. Losses are shares in [0,
// 1): 0.1 means that the best configuration timed on this problem takes 0.9 of the answer's time.
struct HeldOut {
  std::size_t anchor = 0, fold = 0;
  // To the nearest problem of the same categories that the model had seen; infinity: it had seen
  // none.
  double distance = std::numeric_limits<double>::infinity();
  // The first of all candidates that are valid here, and its loss as the model predicts it. None:
  // no candidate is valid.
  std::optional<std::uint32_t> first_choice;
  double first_choice_loss = 0;
  bool first_choice_timed = false;  // that choice was timed on this problem
  double predicted = 0;             // loss of the first choice among what was timed here
  double best_of_three = 0;         // the best of the first three of these
  double estimate = 0;  // what an answer is expected to lose; see learning.md, "Expected loss"
  // The winner of the nearest problem whose winner is valid here; as the model predicts it if it
  // was not timed here. None: no one's is.
  std::optional<double> nearest;
  bool nearest_timed = false;
  // How much more than the first choice that winner loses, the two compared alike: as the model's
  // choice among what was timed here if the winner was timed, else both as the model predicts them.
  double nearest_excess = 0;
  std::optional<double> preset;  // the preset `default`, if it was timed here
};

struct ValidationSettings {
  // Six models of five sixths of the problems are near enough to the model of all; each costs as
  // much as the model itself.
  static constexpr std::size_t kFolds = 6;
  std::size_t folds = kFolds, threads = 2;
  TreeSettings trees;
};

// Leaves the problems of each fold out, learns from the others, and looks at what the answers would
// have lost. Needs two anchors. Problems are dealt out by a hash of their canonical text. Results
// are ascending by anchor.
std::vector<HeldOut> cross_validate(const TrainingRows& rows, const ValidationSettings& settings);

// Bins of loss by distance: at most kMaxBins, each of at least kProblemsPerBin problems. Throws
// std::invalid_argument if there is none.
inline constexpr std::size_t kMaxBins = 4;
inline constexpr std::size_t kProblemsPerBin =
    8;  // an 80 % bound of fewer is the worst that was seen
std::vector<TimeModel::LossBin> loss_bins(std::vector<HeldOut> problems);

// The bound that the next value of the same kind stays below with the given probability, by split
// conformal prediction: of n values the ceil((n + 1) * share)-th; the largest where there are too
// few. Throws std::invalid_argument without values.
double conformal_bound(std::vector<double> values, double share);
inline constexpr double kBoundShare = 0.8;

}  // namespace tunebook::learn
