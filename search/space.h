#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/expression.h"
#include "core/problem.h"
#include "core/spec.h"

namespace tunebook {

// What a space is built from: parameters at slots `first_slot...` of the constraints' names, everything else bound in `scope`.
struct SpaceDefinition {
  std::vector<Parameter> parameters;
  std::vector<int> slots;               // slot of each parameter in `scope`
  std::vector<Expression> constraints;  // the spec's, then those of --where
  KernelSpec::Scope scope;              // problem and device bound, parameters unset
};
SpaceDefinition space_definition(const KernelSpec& spec, const Problem& problem, const Device& device,
                                 const std::vector<std::string>& where = {});

// All valid configurations, as rows of value indices (one byte or two each). Immutable after build.
class SearchSpace {
 public:
  // Throws InputError if a constraint fails to evaluate (names it, with the configuration), or if more than `max_size`
  // configurations are valid.
  static SearchSpace build(SpaceDefinition definition, std::uint64_t max_size = 200'000'000);

  std::uint64_t size() const;
  // Product of the domain sizes as a decimal text (it may exceed 64 bits) and as a double.
  std::string cartesian_size_text() const;
  double cartesian_size() const;

  std::size_t parameter_count() const { return definition_.parameters.size(); }
  const std::vector<Parameter>& parameters() const { return definition_.parameters; }
  std::size_t domain_size(std::size_t parameter) const { return definition_.parameters[parameter].values.size(); }

  // O(1): the value indices of configuration `index` (row order: lexicographic in declared parameter and value order).
  void row(std::uint64_t index, std::span<std::uint16_t> value_indices) const;
  // The index of a row, if it is valid. O(log size) or better.
  std::optional<std::uint64_t> find(std::span<const std::uint16_t> value_indices) const;

  Configuration configuration(std::uint64_t index) const;
  std::optional<std::uint64_t> find(const Configuration& configuration) const;

  const SpaceDefinition& definition() const { return definition_; }

 private:
  SpaceDefinition definition_;
  std::vector<std::uint16_t> rows_;  // size x parameter_count
};

// What each constraint removes and which values never occur: `tunebook space`.
struct SpaceExplanation {
  struct ConstraintEffect {
    std::string text;
    double alone = 0;       // share of the Cartesian product this constraint alone removes (exact up to 2^22 configurations,
    bool exact = true;      // else estimated from a fixed-seed sample)
    std::optional<std::uint64_t> valid_without;  // valid configurations if it were left out; empty if too many to count
  };
  std::vector<ConstraintEffect> constraints;
  std::vector<std::pair<std::string, std::vector<Value>>> unused_values;  // parameter -> values in no valid configuration
};
SpaceExplanation explain(const SearchSpace& space);

}  // namespace tunebook
