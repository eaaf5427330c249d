#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "search_fixtures.h"

namespace tunebook {
namespace {

using test::counting;
using test::define;
using test::integers;

TEST(Explain, KnownAnswers) {
  const SearchSpace space = SearchSpace::build(
      define({integers("a", {1, 2, 3, 4}), integers("b", {1, 2, 3, 4}), counting("free", 5)}, {"a * b <= 4", "b < 3", "a == a"}));
  ASSERT_EQ(space.size(), 6u * 5u);
  const SpaceExplanation explanation = explain(space);
  ASSERT_EQ(explanation.constraints.size(), 3u);
  EXPECT_EQ(explanation.constraints[0].text, "a * b <= 4");
  EXPECT_DOUBLE_EQ(explanation.constraints[0].alone, 8.0 / 16);
  EXPECT_TRUE(explanation.constraints[0].exact);
  EXPECT_EQ(explanation.constraints[0].valid_without, 4u * 2u * 5u);
  EXPECT_DOUBLE_EQ(explanation.constraints[1].alone, 0.5);
  EXPECT_EQ(explanation.constraints[1].valid_without, 8u * 5u);
  EXPECT_DOUBLE_EQ(explanation.constraints[2].alone, 0);
  EXPECT_EQ(explanation.constraints[2].valid_without, space.size());
  ASSERT_EQ(explanation.unused_values.size(), 1u);
  EXPECT_EQ(explanation.unused_values[0].first, "b");
  EXPECT_EQ(explanation.unused_values[0].second, (std::vector<Value>{std::int64_t{3}, std::int64_t{4}}));
}

TEST(Explain, AFailingCombinationIsRemoved) {
  const SearchSpace space = SearchSpace::build(define({counting("a", 4), counting("b", 4)}, {"b != 0", "a // b > 0"}));
  const SpaceExplanation explanation = explain(space);
  EXPECT_DOUBLE_EQ(explanation.constraints[1].alone, (4 + 6) / 16.0);
  EXPECT_EQ(explanation.constraints[0].valid_without, 6u);  // those with b = 0 still fail
}

TEST(Explain, SamplesWhatIsTooLargeToCount) {
  const SearchSpace space = SearchSpace::build(
      define({counting("a", 4000), counting("b", 4000), counting("c", 8)}, {"(a + b) % 4 == c + 3", "a < 40", "b < 40"}));
  const SpaceExplanation explanation = explain(space);
  EXPECT_FALSE(explanation.constraints[0].exact);
  EXPECT_NEAR(explanation.constraints[0].alone, 1 - 1.0 / 32, 0.003);
  EXPECT_TRUE(explanation.constraints[1].exact);
}

TEST(Explain, AnEmptySpaceUsesNoValue) {
  const SpaceExplanation explanation = explain(SearchSpace::build(define({counting("a", 3)}, {"a > 7"})));
  ASSERT_EQ(explanation.unused_values.size(), 1u);
  EXPECT_EQ(explanation.unused_values[0].second.size(), 3u);
  EXPECT_EQ(explanation.constraints[0].valid_without, 3u);
}

TEST(Explain, AListedSpaceHasNoCountWithout) {
  const std::vector<std::uint16_t> rows = {0, 1};
  const SpaceExplanation explanation = explain(SearchSpace::from_rows(define({counting("a", 3)}, {"a < 2"}), rows));
  EXPECT_FALSE(explanation.constraints[0].valid_without);
  EXPECT_NEAR(explanation.constraints[0].alone, 1.0 / 3, 1e-12);
}

}  // namespace
}  // namespace tunebook
