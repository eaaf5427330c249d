#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/device.h"
#include "core/spec.h"
#include "db/time_model.h"
#include "session/tune.h"

namespace tunebook::cli {

// Which trials a model is to be learned from.
struct ModelQuestion {
  std::filesystem::path book;
  std::string kernel, kernel_hash;
  Device device;
  std::string dtype;   // "" where the kernel has no such dimension
  std::string method;  // "cold/2"
};

// A model of time and the declaration that its features and candidates are of.
struct LearnedTimes {
  KernelSpec spec;
  TimeModel model;
};

// How much a model is used for.
enum class LearnPurpose {
  advice,  // what to try first: losses are estimated with two folds only
  loss,    // what answers lose: as the book keeps it
  kept,    // the same, and it is put into the book
};

// The book's model, if it was learned from the trials that the book has now, else one that is
// learned from them. Empty if there are too few. Throws InputError for a book that cannot be read,
// EnvironmentError if XGBoost fails.
std::optional<LearnedTimes> learned_model(const ModelQuestion& question, LearnPurpose purpose);

// For TuneOptions::adviser: what the model of the book's trials says about the subject's problem.
// It proposes nothing where there are too few trials; what goes wrong is told on stderr, and costs
// the advice, not the session.
Adviser book_adviser(const std::filesystem::path& book, const TuneSubject& subject,
                     const ExecutorIdentity& place);

}  // namespace tunebook::cli
