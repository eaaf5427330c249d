// Construction against brute force on thousands of random small spaces.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "search/space_builder.h"
#include "search_fixtures.h"

namespace tunebook {
namespace {

class RandomSpace {
 public:
  explicit RandomSpace(std::uint64_t seed) : random_(seed) {}

  SpaceDefinition make() {
    std::vector<Parameter> parameters;
    const std::size_t count = 1 + random_.below(6);
    for (std::size_t i = 0; i < count; ++i) {
      names_.push_back(fmt::format("p{}", i));
      parameters.push_back(parameter(names_.back()));
    }
    std::vector<std::string> constraints;
    const std::size_t how_many = random_.below(6);
    for (std::size_t i = 0; i < how_many; ++i) constraints.push_back(constraint());
    return test::define(std::move(parameters), constraints);
  }

 private:
  Parameter parameter(const std::string& name) {
    Parameter result;
    result.name = name;
    if (random_.below(10) == 0) {
      result.values = {false, true};
      return result;
    }
    const std::int64_t first = static_cast<std::int64_t>(random_.below(6)) - 1;
    const std::int64_t step = 1 + static_cast<std::int64_t>(random_.below(4));
    const std::int64_t size = 1 + static_cast<std::int64_t>(random_.below(6));
    for (std::int64_t v = 0; v < size; ++v) result.values.emplace_back(first + v * step);
    if (random_.below(2) == 0) std::reverse(result.values.begin(), result.values.end());
    return result;
  }

  std::string name() { return names_[random_.below(names_.size())]; }
  std::uint64_t number() { return random_.below(40); }

  std::string constraint() {
    switch (random_.below(13)) {
      case 0: return fmt::format("{} * {} <= {}", name(), name(), number());
      case 1: return fmt::format("{} % {} == 0", name(), name());  // may divide by zero
      case 2: return fmt::format("{} != {}", name(), number() / 8);
      case 3: return fmt::format("{} in [1, 2, 4, 8, {}]", name(), number());
      case 4: return fmt::format("{} == 0 or {} < {}", name(), name(), name());
      case 5: return fmt::format("{} <= {} + {} <= {}", number() / 8, name(), name(), number());
      case 6: return fmt::format("{} / {} >= 1", name(), name());  // may divide by zero
      case 7: return fmt::format("({} + 1) * ({} + 2) * ({} + 1) < {}", name(), name(), name(), number() * 8);
      case 8: return fmt::format("{} == 0 or {} // {} > 0", name(), name(), name());
      case 9: return fmt::format("{} != {} or {} == {}", name(), name(), name(), name());
      case 10: return fmt::format("{} > {}", number(), number() / 8);
      case 11: return fmt::format("{} != 0", name());
      default: return fmt::format("{} ** {} < 100000", name(), name());  // may overflow or be a fraction
    }
  }

  Random random_;
  std::vector<std::string> names_;
};

struct BruteForce {
  std::vector<std::vector<std::uint16_t>> rows;
  bool fails = false;  // some configuration is rejected by no constraint, and one of them fails to evaluate for it
};

BruteForce brute_force(const SpaceDefinition& definition, std::optional<std::size_t> without = std::nullopt) {
  BruteForce result;
  std::vector<std::uint16_t> row(definition.parameters.size(), 0);
  std::vector<Scalar> scope = definition.scope;
  while (true) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      scope[static_cast<std::size_t>(definition.slots[i])] = Scalar::from(definition.parameters[i].values[row[i]]);
    }
    bool rejected = false;
    bool failed = false;
    for (std::size_t c = 0; c < definition.constraints.size(); ++c) {
      if (without == c) continue;
      try {
        rejected |= !definition.constraints[c].evaluate_bool(scope);
      } catch (const ExpressionError&) {
        failed = true;
      }
    }
    if (!rejected && failed) result.fails = true;
    if (!rejected && !failed) result.rows.push_back(row);
    std::size_t i = row.size();
    while (i > 0 && ++row[i - 1] == definition.parameters[i - 1].values.size()) row[--i] = 0;
    if (i == 0) return result;
  }
}

TEST(SearchSpaceRandom, AgreesWithBruteForce) {
  int failing = 0;
  int empty = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const SpaceDefinition definition = RandomSpace(seed).make();
    const BruteForce expected = brute_force(definition);
    SCOPED_TRACE(seed);
    if (expected.fails) {
      ++failing;
      ASSERT_THROW(SearchSpace::build(definition), InputError);
      continue;
    }
    const SearchSpace space = SearchSpace::build(definition);
    ASSERT_EQ(space.size(), expected.rows.size());
    empty += expected.rows.empty() ? 1 : 0;
    std::vector<std::uint16_t> row(definition.parameters.size());
    for (std::uint64_t i = 0; i < space.size(); ++i) {
      space.row(i, row);
      ASSERT_EQ(row, expected.rows[i]);
      ASSERT_EQ(space.find(std::span<const std::uint16_t>(row)), i);
    }
  }
  // The generator reaches what it is meant to reach.
  EXPECT_GT(failing, 200);
  EXPECT_GT(empty, 100);
  EXPECT_LT(failing + empty, 3000);
}

TEST(SearchSpaceRandom, CountsWithoutAConstraint) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const SpaceDefinition definition = RandomSpace(seed).make();
    const KeyLayout layout(definition.parameters);
    SCOPED_TRACE(seed);
    for (std::size_t c = 0; c < definition.constraints.size(); ++c) {
      const BruteForce expected = brute_force(definition, c);
      ASSERT_EQ(SpaceBuilder(definition, layout, c).count(1'000'000), expected.rows.size()) << c;
    }
  }
}

}  // namespace
}  // namespace tunebook
