#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/time_model.h"
#include "db/training.h"
#include "learn/cross_validation.h"

namespace tunebook::learn {

// Fewer tell nothing about shapes that were not tuned: the nearest winner is then as good a guess.
inline constexpr std::size_t kMinProblems = 3;
inline constexpr std::size_t kMinTrials = 30;
// Candidates of one model. Beyond that, those that came nearest to the best of some problem are
// kept.
inline constexpr std::size_t kCandidateLimit = 4096;
// Learning from more trials than this uses fewer folds, so that it takes no longer than people
// wait.
inline constexpr std::size_t kManyTrials = 30'000;
inline constexpr std::size_t kFoldsOfMany = 3;
// Larger with each change of features, trees or bounds: what was learned by an older recipe is
// learned again.
inline constexpr int kRecipe = 3;

struct LearnSettings {
  ValidationSettings validation;
  std::string learned_utc;  // ISO 8601, for the model
};

// A model of one group of trials, or why there is none.
struct LearnedModel {
  std::optional<TimeModel> model;
  std::string reason;  // without a model, in words: "2 problems with a verified time, 3 are needed"
  std::size_t problems = 0;       // with a verified time
  std::size_t trials = 0;         // that were learned from
  std::vector<HeldOut> held_out;  // what its expected losses were estimated from
};

// Learns. The result depends on the group, the settings and the version of XGBoost alone. Throws
// EnvironmentError if XGBoost fails.
LearnedModel learn_model(const TrainingGroup& group, const LearnSettings& settings);

// Identifies what a group's model is learned from: its trials, its declaration, and the recipe.
// Equal texts give equal models.
std::string learned_from(const TrainingGroup& group);

}  // namespace tunebook::learn
