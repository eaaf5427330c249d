#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.h"
#include "core/problem.h"
#include "core/spec.h"

namespace tunebook {

// A model of time: predicts, for one kernel version, data type, device and method, what share of its speed a configuration loses
// against the best one of a problem. It is plain data (db/models.md has the format); learning it is the box tuner/learn.
//
// A prediction is exact arithmetic: features are exact expressions rounded once to f32, leaves are integers, and their sum does not
// depend on the order of adding. So every machine, the frozen header and Python give the same answer.
struct TimeModel {
  // One node of a tree. A leaf has feature kLeaf. Otherwise a value below `threshold` goes on at `next`, any other at `next` + 1.
  struct Node {
    static constexpr std::int32_t kLeaf = -1;
    std::int32_t feature = kLeaf;
    float threshold = 0;
    std::int32_t next = 0;  // index into `nodes`, greater than the node's own; of a leaf its value, in units of kLossUnit
    friend bool operator==(const Node&, const Node&) = default;
  };
  // A configuration that passed verification on at least one problem and failed it on none.
  struct Candidate {
    std::vector<std::uint16_t> values;  // one index into the declared values per parameter, in declared order
    std::int32_t registers = -1;        // per thread, the most recorded; -1: not known
    std::int64_t shared_bytes = -1;     // static and dynamic, of one block, the most recorded; -1: not known
    std::int32_t problems = 0;          // that it was timed on
    friend bool operator==(const Candidate&, const Candidate&) = default;
  };
  // A tuned problem. Predicted times scale from the nearest ones.
  struct Anchor {
    std::vector<Value> problem;         // one value per dimension, in declared order
    double best_us = 0;                 // of one launch, the fastest verified trial's median
    std::uint32_t candidate = 0;        // which one that was
    friend bool operator==(const Anchor&, const Anchor&) = default;
  };
  // What answers lost in cross-validation, for problems up to a distance (problem_distance()) from the nearest anchor of the same
  // categories. Losses are shares: 0.1 means that the best configuration takes 0.9 of the answer's time.
  struct LossBin {
    double distance_upto = std::numeric_limits<double>::infinity();
    double predicted_mean = 0;          // of this model's first choice
    double predicted_bound = 0;         // 80 % of the problems lost at most this
    double nearest_mean = 0;            // of the nearest problem's winner
    std::int32_t problems = 0;          // that the bin was estimated from
    friend bool operator==(const LossBin&, const LossBin&) = default;
  };

  std::string dtype;                    // value of the dimension dtype; "" where the kernel has none
  std::string method;                   // "cold/2": whole, as of the trials
  std::vector<std::string> features;    // expressions over the declaration's names, integer mode; without a value: kNoValue
  std::vector<std::uint32_t> roots;     // one per tree, indices into `nodes`, ascending
  std::vector<Node> nodes;
  std::int64_t base = 0;                // added to the leaves' sum, in units of kLossUnit
  std::vector<Candidate> candidates;    // each once; at least one
  std::vector<Anchor> anchors;          // each problem once; at least one
  std::vector<LossBin> loss;            // by distance, ascending; the last one is infinite
  std::int64_t trials = 0;              // learned from
  std::string learned_utc;              // ISO 8601
  friend bool operator==(const TimeModel&, const TimeModel&) = default;

  static constexpr std::int64_t kFormat = 1;
  static constexpr double kLossUnit = 1.0 / 1048576;     // of predicted losses: 2^-20
  static constexpr float kNoValue = -1;                  // of a feature whose expression cannot be evaluated
  // Limits that a model is refused beyond, so that a hostile one costs neither memory nor time.
  static constexpr std::size_t kMaxFeatures = 256, kMaxTrees = 1024, kMaxNodes = 1 << 18, kMaxCandidates = 1 << 14, kMaxAnchors = 1 << 14,
                               kMaxDepth = 32;

  // The bytes that the book keeps, and back. decode() throws InputError naming `where` and the fault: another format, a wrong length, a
  // count or an index out of its range, a node that does not point forwards, a number that is not finite, values that the declaration
  // does not have, a feature that does not compile. What it returns is safe to evaluate.
  std::string encode() const;
  static TimeModel decode(std::string_view bytes, const KernelSpec& spec, const std::string& where);

  // The predicted loss of one configuration in units of kLossUnit; less is faster. `values`: one per feature.
  std::int64_t predict(const float* values) const;
  // The bin that a distance falls into.
  const LossBin& loss_at(double distance) const;
};

// A feature's value as models compare it: an integer, or a fraction as the nearest double, rounded once more to f32; kNoValue for
// text and for an expression without a value.
float feature_value(const Expression& expression, const KernelSpec::Scope& scope);

// The features that every declaration has by itself: sizes, their divisibility, the volume, categories, parameters, and of each launch
// the threads, blocks, shared memory, waves and fill; then those that the declaration names ("features"). Texts for TimeModel::features.
std::vector<std::string> automatic_features(const KernelSpec& spec);

}  // namespace tunebook
