#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/time_model.h"

namespace tunebook::learn {

// Rows of features, one after the other.
struct Matrix {
  std::size_t columns = 0;
  std::vector<float> values;
  std::size_t rows() const { return columns == 0 ? 0 : values.size() / columns; }
  const float* row(std::size_t index) const { return values.data() + index * columns; }
};

// How trees are grown. Customary values for some thousand rows of noisy times, taken over from a first
// study on books of one H200 (matmul, softmax, transpose). The reasons say what each is for; they were
// not varied one by one.
struct TreeSettings {
  static constexpr int kRounds = 200;        // enough at this eta to fit; each tree costs bytes and time
  static constexpr int kMaxDepth = 6;        // interactions of sizes with two or three parameters
  static constexpr double kEta = 0.1;        // small steps: no single tree decides
  static constexpr double kSubsample = 0.8;  // neighbouring trials are alike: a tree leaves some out
  static constexpr double kColumns = 0.7;    // a size and its divisibility say nearly the same
  static constexpr double kMinChildWeight = 3;  // a leaf of one or two trials is noise
  static constexpr int kSeed = 1;
  int rounds = kRounds;
};

// Trees and their base, in the form of TimeModel.
struct Trees {
  std::vector<std::uint32_t> roots;
  std::vector<TimeModel::Node> nodes;
  std::int64_t base = 0;
};

// Trains gradient-boosted trees that predict `labels` (one per row, finite) from rows (finite
// values). One thread does it all, so that the same input gives the same trees; several threads may
// train at once. Throws EnvironmentError if XGBoost fails. `predicted`, if given, receives
// XGBoost's own prediction for each row.
Trees train_trees(const Matrix& rows, std::span<const float> labels, const TreeSettings& settings,
                  std::vector<float>* predicted = nullptr);

// XGBoost's JSON model as trees. Throws EnvironmentError naming what is missing or out of range:
// another XGBoost writes it otherwise.
Trees trees_from_json(std::string_view json, std::size_t columns, double base);

// The version of the library that trains: "1.7.4".
std::string trainer_version();

}  // namespace tunebook::learn
