#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/expression.h"
#include "core/problem.h"
#include "core/spec.h"
#include "search/key_layout.h"

namespace tunebook {

// What a space is built from: parameters at slots `first_slot...` of the constraints' names, everything else bound in `scope`.
struct SpaceDefinition {
  std::vector<Parameter> parameters;
  std::vector<int> slots;               // slot of each parameter in `scope`
  std::vector<Expression> constraints;  // the spec's, then those of --where
  KernelSpec::Scope scope;              // problem and device bound, parameters unset

  // Product of the domain sizes as a decimal text (it may exceed 64 bits) and as a double.
  std::string cartesian_size_text() const;
  double cartesian_size() const;
};
// Of a template, with --where texts over the spec's names added to its constraints. Throws InputError for a text that does not
// compile (with the column, and the nearest name for an unknown one).
SpaceDefinition space_definition(const KernelSpec& spec, const Problem& problem, const Device& device,
                                 const std::vector<std::string>& where = {});

// Compiles --where texts. Throws InputError naming the text and the column.
std::vector<Expression> compile_where(const std::vector<std::string>& where, const Names& names);

// How many configurations are valid, counted without listing them.
struct SpaceSize {
  double count = 0;
  std::optional<std::uint64_t> exact;  // empty if it does not fit 64 bits or is estimated
  double relative_error = 0;           // standard error of an estimate, as a share of the count; 0: counted
  double largest_group = 0;            // of the parameters' independent groups, the number of valid combinations of the largest
  double failing = 0;                  // further ones for which a constraint fails to evaluate and no other rejects; known of large groups only
  // Whether SearchSpace::build() can hold it.
  bool fits() const;
};
// Groups that take more than `max_steps` (some 10 million a second) in all are estimated from random descents. Independent of the order
// of the constraints.
SpaceSize space_size(const SpaceDefinition& definition, std::uint64_t max_steps = 20'000'000);

// All valid configurations, each as one sorted mixed-radix key (8 bytes while the Cartesian size fits 64 bits). A large space whose
// parameters fall into independent groups is kept as the product of the groups' keys, so that it may have far more configurations
// than would fit into memory. Immutable after build; safe to share between threads.
class SearchSpace {
 public:
  // Spaces up to this size are one list in row order; larger ones are products, if they can be.
  static constexpr std::uint64_t kListed = std::uint64_t{1} << 22;
  static constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kMaxGroup = 200'000'000;  // of one group of parameters: 1.6 GB

  // Throws InputError if a constraint fails to evaluate for a configuration that no other constraint rejects (names the
  // constraint, the column and the values), or if more than `max_size` configurations (or kMaxGroup of one group of parameters) are
  // valid. The answer does not depend on the order of the constraints. An empty space is no error.
  static SearchSpace build(SpaceDefinition definition, std::uint64_t max_size = kMaxSize);

  // A space whose valid set is given: `rows` holds parameter_count() value indices for each configuration, in any order, repeats
  // allowed. Constraints in the definition are not applied.
  static SearchSpace from_rows(SpaceDefinition definition, std::span<const std::uint16_t> rows);
  // True if made by from_rows.
  bool listed() const { return listed_; }

  std::uint64_t size() const { return size_; }
  std::string cartesian_size_text() const { return definition_.cartesian_size_text(); }
  double cartesian_size() const { return definition_.cartesian_size(); }

  std::size_t parameter_count() const { return definition_.parameters.size(); }
  const std::vector<Parameter>& parameters() const { return definition_.parameters; }
  std::size_t domain_size(std::size_t parameter) const { return definition_.parameters[parameter].values.size(); }

  // O(1): the value indices of configuration `index`. The order is lexicographic in declared parameter and value order up to
  // kListed configurations, above within each group.
  void row(std::uint64_t index, std::span<std::uint16_t> value_indices) const;
  // The index of a row, if it is valid. O(log size) or better.
  std::optional<std::uint64_t> find(std::span<const std::uint16_t> value_indices) const;

  Configuration configuration(std::uint64_t index) const;
  std::optional<std::uint64_t> find(const Configuration& configuration) const;

  const SpaceDefinition& definition() const { return definition_; }

  // Value indices of the parameter that occur in no valid configuration.
  std::vector<std::uint16_t> unused_values(std::size_t parameter) const;
  // Bytes that the list of configurations takes.
  std::uint64_t memory_bytes() const;

 private:
  struct Group {
    std::vector<std::size_t> parameters;
    std::vector<std::uint64_t> keys;  // ascending
    std::uint64_t size = 0;           // number of keys
    std::uint64_t stride = 1;         // of this group in an index; the last group varies fastest
  };

  explicit SearchSpace(SpaceDefinition definition);
  void set_groups(std::vector<Group> groups);
  void list();

  SpaceDefinition definition_;
  KeyLayout layout_;
  std::vector<Group> groups_;
  std::uint64_t size_ = 0;
  bool listed_ = false;
};

// What each constraint removes and which values never occur: `tunebook space`.
struct SpaceExplanation {
  struct ConstraintEffect {
    std::string text;
    double alone = 0;       // share of the Cartesian product this constraint alone removes (exact up to 2^22 configurations,
    bool exact = true;      // else estimated from a fixed-seed sample)
    // Valid configurations if it were left out (one for which another constraint fails to evaluate is not valid); empty if there
    // are too many to count, or if the space is listed().
    std::optional<std::uint64_t> valid_without;
  };
  std::vector<ConstraintEffect> constraints;
  std::vector<std::pair<std::string, std::vector<Value>>> unused_values;  // parameter -> values in no valid configuration
};
SpaceExplanation explain(const SearchSpace& space);
// Of a space that cannot be listed. The values that never occur are then those that a constraint over this one parameter excludes.
SpaceExplanation explain(const SpaceDefinition& definition);

}  // namespace tunebook
