#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "db/store.h"
#include "db/training.h"
#include "learn/learn_model.h"

namespace tunebook::learn {

// What learning came to for one kernel version, device, data type and method.
struct LearnedGroup {
  enum class State {
    learned,    // anew
    unchanged,  // the book's model was learned from these trials
    none,       // no model: see `reason`
  };
  State state = State::none;
  std::string kernel, kernel_hash, device, dtype, method;
  std::size_t problems = 0, trials = 0, candidates = 0;
  // Means over the bins, weighted by their problems; shares.
  double expected_loss = 0, loss_bound = 0, nearest_loss = 0;
  std::int64_t bytes = 0;
  std::string reason;
  double seconds = 0;  // that learning took
};
const char* state_name(LearnedGroup::State state);  // "learned", "unchanged", "none"

struct LearnedBook {
  std::vector<LearnedGroup> groups;
  std::vector<ModelRecord> fresh;  // models that the book does not have yet
  // Of models in the book whose trials are no longer enough to learn from.
  std::vector<ModelRecord> outdated;  // without their bodies
  bool changed() const { return !fresh.empty() || !outdated.empty(); }
};

struct LearnBookOptions {
  std::vector<std::string> kernels;  // names; empty: all
  std::size_t threads = 2;
};

// Throws InputError if the book read from `path` has no kernel of one of these names.
void check_kernels(const TrainingBook& book, const std::vector<std::string>& names,
                   const std::filesystem::path& path);

// Learns the models of a book that is only read: each group whose trials are not those of the
// book's model. Throws InputError if there is no book at `path` or it has no kernel of a name in
// `options`; EnvironmentError if XGBoost fails.
LearnedBook learn_from_book(const std::filesystem::path& path,
                            const LearnBookOptions& options = {});

// Whether this user may write the book: the file, and files beside it.
bool can_write(const std::filesystem::path& path);

}  // namespace tunebook::learn
