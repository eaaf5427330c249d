#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/problem.h"
#include "learn/cross_validation.h"

namespace tunebook::learn {

// One problem that was asked for as if nobody had tuned it. Shares are times of the tuned
// configuration over times of the answer: 1 is as good as tuned. Empty: not measured, or there was
// no such answer.
struct QualityQuestion {
  Problem problem;
  std::string tier;  // how the answer matched: "predicted", "near", ...
  double distance =
      0;  // to the nearest problem that was known; infinity: none of the same categories was
  Configuration tuned, answer;
  double tuned_us = 0;                              // as the book of truth has it
  std::optional<double> expected_loss, loss_bound;  // that came with the answer
  std::optional<double> answered, best_of_three, nearest, preset;
  std::optional<double> timed;  // both timed again on a device
  std::string note;             // why it was not timed
};

// The questions of one kernel version, device, data type and method.
struct QualityGroup {
  std::string kernel, kernel_hash, dtype, method;
  Device device;
  std::size_t known = 0;  // problems that answers were learned from
  std::vector<QualityQuestion> questions;
  std::string reason;  // without questions: why
};

// Geometric means and worst of the questions of a group; empty where nothing was measured.
struct QualitySummary {
  std::size_t asked = 0, scored = 0;
  std::optional<double> mean, worst, best_of_three, nearest, preset;
  std::size_t with_nearest = 0, with_preset = 0;  // how many the last two are of
  std::optional<double> expected;                 // mean of 1 - expected loss
  std::optional<double> within_bound;  // share of the scored ones that lost at most their bound
};
// `timed`: only what was timed on a device counts as the answers' score; else what the books have.
QualitySummary summarise(const QualityGroup& group, bool timed = false);

struct QualityOptions {
  std::vector<std::string> kernels;  // names; empty: all
  std::size_t folds = ValidationSettings::kFolds;
  std::size_t threads = 2;
};

// From the book alone: leaves each fold's problems out, learns from the others, and scores the
// choice among what was timed on the problem left out. Bounds come from the other folds. Throws
// InputError if there is no book at `path` or it has no trials of a kernel of this name.
std::vector<QualityGroup> quality_from_book(const std::filesystem::path& path,
                                            const QualityOptions& options);

// Asks a published copy of `book` (learned anew where its models are stale, not written) for the
// problems tuned in `truth`, and scores what `truth` has timed. Problems tuned in both are left
// out. `nearest` is what the same book answers without models. Throws like the above.
std::vector<QualityGroup> quality_by_truth(const std::filesystem::path& book,
                                           const std::filesystem::path& truth,
                                           const QualityOptions& options);

}  // namespace tunebook::learn
