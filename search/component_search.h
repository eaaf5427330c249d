#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "search/key_layout.h"
#include "search/space.h"

namespace tunebook {

// Depth-first search over some parameters of a space, in a given order, checking each constraint as soon as its last parameter
// is bound. Used by SpaceBuilder, which plans the levels.
class ComponentSearch {
 public:
  struct LevelCheck {
    std::size_t constraint = 0;
    std::vector<std::size_t> parameters;  // those not bound in the scope from the start
    bool repeats = false;                 // the same values will be met again: a table of results pays
  };
  struct Level {
    std::size_t parameter = 0;
    std::vector<std::uint16_t> domain;  // value indices to try, ascending
    std::vector<Scalar> scalars;        // of all declared values
    std::vector<LevelCheck> checks;     // completed by this parameter, most selective first
  };
  struct Limits {
    std::uint64_t store = 0;                                          // keys kept; beyond it they are only counted
    std::uint64_t count = std::numeric_limits<std::uint64_t>::max();  // the search ends when there are more
    std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();  // and after so many values tried
    bool skip_failures = false;  // a combination with a failing evaluation is dropped, not reported
  };
  struct Result {
    std::vector<std::uint64_t> keys;  // contributions of the parameters to the key; empty if more than Limits::store
    std::uint64_t count = 0;
    std::uint64_t steps = 0;
    bool complete = true;               // false: ended by a limit
    std::optional<std::string> error;   // a constraint failed to evaluate where no other rejects; ends the search
  };

  // `scope` binds everything but the levels' parameters.
  ComponentSearch(const SpaceDefinition& definition, const KeyLayout& layout, std::vector<Scalar> scope,
                  std::vector<Level> levels);
  Result run(const Limits& limits);

 private:
  enum class Verdict : std::uint8_t { unknown, pass, reject, fail };
  struct Table {
    std::vector<std::uint64_t> strides;  // of the check's parameters
    std::vector<Verdict> verdicts;       // empty: evaluate every time
  };

  bool descend(std::size_t level);
  bool leaf();
  Verdict check(const LevelCheck& level_check, Table& table);
  Verdict evaluate(std::size_t constraint) const;

  const SpaceDefinition& definition_;
  const KeyLayout& layout_;
  std::vector<Scalar> scope_;
  std::vector<Level> levels_;
  std::vector<std::vector<Table>> tables_;  // per level and check
  std::vector<std::uint16_t> row_;
  std::vector<std::uint64_t> prefix_;       // key of the levels above, per level
  std::optional<std::size_t> failed_;       // constraint that failed to evaluate on the current path
  Limits limits_;
  Result result_;
};

}  // namespace tunebook
