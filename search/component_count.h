#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/space.h"

namespace tunebook {

// Counts the valid combinations of some parameters without listing them. Parameters are bound one after the other; of those bound, only
// the values that a later constraint reads are told apart, and combinations that agree in them are counted together. That takes as long
// as there are different such values, however many combinations there are: a chain of a thousand pairs is as quick as its pairs.
class ComponentCount {
 public:
  struct Level {
    std::size_t parameter = 0;
    std::vector<std::uint16_t> domain;    // value indices to try
    std::vector<Scalar> scalars;          // of all declared values
    std::vector<std::size_t> constraints; // completed by this parameter
    std::vector<std::size_t> live;        // parameters bound up to here that later levels' constraints read
  };
  struct Result {
    bool complete = true;                 // false: ended by a limit
    std::uint64_t steps = 0;              // values tried
    double count = 0;
    std::optional<std::uint64_t> exact;   // empty if it does not fit 64 bits
    double failing = 0;                   // combinations for which a constraint fails to evaluate and none rejects; not counted
  };
  struct Estimate {
    double count = 0;
    double standard_error = 0;
  };

  // `scope` binds everything but the levels' parameters.
  ComponentCount(const SpaceDefinition& definition, std::vector<Scalar> scope, std::vector<Level> levels);

  // Gives up after `max_steps`, or where more than kMaxStates combinations have to be told apart.
  static constexpr std::size_t kMaxStates = std::size_t{1} << 20;
  Result run(std::uint64_t max_steps);

  // From random descents through the levels: the product of the numbers of values that were possible on the way is an unbiased estimate
  // of the count (Knuth 1975, "Estimating the efficiency of backtrack programs"). A failing constraint rejects.
  Estimate estimate(int descents);

 private:
  struct Sum;
  enum class Verdict { pass, reject, fail };

  Verdict check(const Level& level);

  const SpaceDefinition& definition_;
  std::vector<Scalar> scope_;
  std::vector<Level> levels_;
};

}  // namespace tunebook
