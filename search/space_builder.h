#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/component_count.h"
#include "search/key_layout.h"
#include "search/space.h"

namespace tunebook {

// Finds the valid configurations of a definition by propagation:
// - parameters with one value are constants, constraints over one parameter filter its values;
// - parameters that no remaining constraint links fall into components, enumerated apart and multiplied;
// - a component is a depth-first search in an order chosen for the fewest evaluations (from sampled selectivities), each
//   constraint checked as soon as its last parameter is bound, and its results kept in a table where they would repeat.
// A constraint that fails to evaluate does not end the search: the failure counts only for a configuration that no other
// constraint rejects, so that the answer does not depend on the order.
class SpaceBuilder {
 public:
  // Leaves out constraint `without` if it is given. The definition must outlive the builder.
  SpaceBuilder(const SpaceDefinition& definition, const KeyLayout& layout,
               std::optional<std::size_t> without = std::nullopt);

  // The valid configurations are the product of these: one for each component, in the order of their first parameters.
  struct Part {
    std::vector<std::size_t> parameters;  // ascending
    std::vector<std::uint64_t> keys;      // ascending; what the parameters contribute to the key
  };
  // No part is empty; no parts: nothing is valid. Throws InputError as SearchSpace::build does.
  std::vector<Part> build(std::uint64_t max_size);

  // Number of valid configurations, none of them stored; empty if that would take more than `max_steps` search steps or
  // overflows 64 bits. Configurations for which a constraint fails to evaluate do not count.
  std::optional<std::uint64_t> count(std::uint64_t max_steps);

  // The same, estimated where it would take more steps. Combinations of a group are searched one by one for `few_steps`, a tenth of a
  // second, before they are counted together.
  static constexpr std::uint64_t kFewSteps = 2'000'000;
  SpaceSize size(std::uint64_t max_steps, std::uint64_t few_steps = kFewSteps);

  // Values of a parameter that constraints over it alone leave, ascending.
  const std::vector<std::uint16_t>& possible_values(std::size_t parameter) const { return domains_[parameter]; }

 private:
  struct Check {
    std::size_t constraint = 0;
    std::vector<std::size_t> parameters;  // not constant, ascending
    double selectivity = 1;               // estimated share that passes
  };
  struct Component {
    std::vector<std::size_t> parameters;  // in declared order
    std::vector<std::size_t> checks;      // into checks_
  };

  void bind_constants_and_filter();
  void bind_if_constant(std::size_t parameter);
  // Returns whether values went.
  bool filter_domain(std::size_t constraint, std::size_t parameter);
  void check_constant(std::size_t constraint);
  void find_components();
  void estimate_selectivity(Check& check);
  std::vector<std::size_t> search_order(const Component& component) const;
  std::vector<std::size_t> counting_order(const Component& component) const;
  ComponentCount counter(const Component& component, const std::vector<std::size_t>& order) const;
  // Empty if it takes more than `max_steps`, which it lessens by those it took.
  std::optional<SpaceSize> counted(const Component& component, std::uint64_t& max_steps, std::uint64_t few_steps) const;
  [[noreturn]] void throw_too_many(std::uint64_t max_size) const;

  class Enumerator;

  const SpaceDefinition& definition_;
  const KeyLayout& layout_;
  std::vector<Scalar> scope_;
  std::vector<std::vector<std::uint16_t>> domains_;   // value indices still possible
  std::vector<std::vector<Scalar>> scalars_;          // of every declared value
  std::vector<std::vector<std::size_t>> parameters_;  // that each constraint reads
  std::vector<bool> settled_;                         // constraints that need no further check
  std::vector<Check> checks_;
  std::vector<Component> components_;
  bool empty_ = false;
  std::optional<std::string> error_;                  // of a constraint over constants only
};

// The message for a constraint that fails to evaluate at the configuration bound in `scope`.
std::string evaluation_failure(const SpaceDefinition& definition, const Expression& constraint,
                               std::span<const Scalar> scope);

}  // namespace tunebook
