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

// How trees are grown. Found on recorded books (matmul, softmax, transpose, f32, one H200; half of the shapes tuned, the other half
// asked for): no neighbour of this setting was better on all three by more than the noise of another seed.
struct TreeSettings {
  static constexpr int kRounds = 200;        // at eta 0.1 more rounds gained nothing, fewer than 150 lost a percent
  static constexpr int kMaxDepth = 6;        // interactions of sizes with two or three parameters
  static constexpr double kEta = 0.1;
  static constexpr double kSubsample = 0.8;  // neighbouring trials are alike: each tree leaves some out
  static constexpr double kColumns = 0.7;    // likewise features: a size and its divisibility say nearly the same
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

// Trains gradient-boosted trees that predict `labels` (one per row, finite) from rows (finite values). One thread does it all, so
// that the same input gives the same trees; several threads may train at once. Throws EnvironmentError if XGBoost fails. `predicted`, if
// given, receives XGBoost's own prediction for each row.
Trees train_trees(const Matrix& rows, std::span<const float> labels, const TreeSettings& settings, std::vector<float>* predicted = nullptr);

// XGBoost's JSON model as trees. Throws EnvironmentError naming what is missing or out of range: another XGBoost writes it otherwise.
Trees trees_from_json(std::string_view json, std::size_t columns, double base);

// The version of the library that trains: "1.7.4".
std::string trainer_version();

}  // namespace tunebook::learn
