#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/problem.h"
#include "core/spec.h"
#include "sweep/item.h"

namespace tunebook {

// Sizes that one dimension may have in a region.
struct CoverDimension {
  std::string name;
  std::int64_t from = 1, to = 1;     // any size between, log-uniform; both ends belong to it
  std::vector<std::int64_t> values;  // not empty: these sizes only
  // The kernel's constraints or launches divide this size, so that an odd one has other
  // configurations than a multiple of 16.
  bool classes = false;
  friend bool operator==(const CoverDimension&, const CoverDimension&) = default;
};

// A shape that counts more than those that nobody asked for.
struct WeightedShape {
  std::vector<std::int64_t> sizes;  // in the order of the region's dimensions
  double weight = 1;
  friend bool operator==(const WeightedShape&, const WeightedShape&) = default;
};

// An entry of a plan that names a region instead of shapes: the sweep chooses what to tune in it.
struct CoverRegion {
  std::string path;  // JSON path of the entry
  // Kernel, device, settings, and a problem whose categories hold; its sizes are replaced.
  SweepItem item;
  std::vector<CoverDimension> dimensions;  // every size, in the declaration's order
  std::string when;                        // condition on the sizes, as the plan has it; or ""
  // Whether the condition holds; null: there is none.
  std::function<bool(const std::vector<std::int64_t>&)> holds;
  std::vector<WeightedShape> weights;      // those in the region
  double target_loss = 0.03;               // ends when the region is expected to lose less, a share
  std::size_t most_shapes = 0;             // that one sweep tunes; 0: no limit

  // Of all that decides what is chosen: equal text, equal work.
  std::string identity() const;
  SweepItem item_for(const std::vector<std::int64_t>& sizes) const;
  // "matmul f32 on cuda:0: m 1..8192, n 4096|11008, k 4096".
  std::string display() const;
  bool contains(const std::vector<std::int64_t>& sizes) const;
};

// A shape that stands for others near it.
struct CoverQuestion {
  std::vector<std::int64_t> sizes;
  double weight = 1;
  friend bool operator==(const CoverQuestion&, const CoverQuestion&) = default;
};

// 16, 8, 4, 2 or 1: the largest of them that divides the size.
std::int64_t divisibility_class(std::int64_t size);

// Whether a constraint, a launch or the like of the declaration divides by something that may
// depend on this dimension.
bool tells_classes_apart(const KernelSpec& spec, const std::string& dimension);

// A region is judged by so many drawn shapes: enough that each of the 25 combinations of classes
// of two sizes comes ten times, few enough that choosing takes milliseconds.
inline constexpr std::size_t kDrawnQuestions = 256;

// The same for the same region and seed: a low-discrepancy sequence, log-uniform in each size; of a
// dimension with classes each class as often as the others, where the region has such sizes. Then
// the weighted shapes. Where there are some, all that is drawn weighs kDrawnWeight of what they do.
inline constexpr double kDrawnWeight = 0.1;
std::vector<CoverQuestion> draw_questions(const CoverRegion& region);

// "3%", "0.5%" as a share. Empty if it is no percentage from 0 to 100 (0 excluded).
std::optional<double> parse_percentage(std::string_view text);

}  // namespace tunebook
