#include "search/feature_map.h"

#include <vector>

#include <gtest/gtest.h>

#include "search_fixtures.h"

namespace tunebook {
namespace {

TEST(FeatureMap, OrdersNumbersAndLeavesConstantsOut) {
  const SearchSpace space = SearchSpace::build(test::define({test::integers("block", {128, 32, 64}), test::integers("one", {7})}));
  const FeatureMap features(space);
  ASSERT_EQ(features.size(), 1u);
  const FeatureMap::Feature& block = features.features()[0];
  EXPECT_TRUE(block.ordered);
  EXPECT_EQ(block.level_of, (std::vector<std::uint8_t>{2, 0, 1}));
  EXPECT_DOUBLE_EQ(block.positions[0], 0);
  EXPECT_DOUBLE_EQ(block.positions[1], 0.5);
  EXPECT_DOUBLE_EQ(block.positions[2], 1);
}

TEST(FeatureMap, TextsHaveNoOrder) {
  Parameter layout;
  layout.name = "layout";
  for (const char* text : {"row", "column", "swizzled"}) layout.values.emplace_back(std::string(text));
  const SearchSpace space = SearchSpace::build(test::define({layout}));
  EXPECT_FALSE(FeatureMap(space).features()[0].ordered);
}

TEST(FeatureMap, AlignmentIsAFeatureWhereItVaries) {
  // 16, 32, 48, 64, 80: powers of two that divide them are 16, 32, 16, 64, 16. Of 1, 2, 4, 8, 16 they say nothing new.
  const SearchSpace space = SearchSpace::build(test::define({test::integers("x", {16, 32, 48, 64, 80}), test::integers("y", {1, 2, 4, 8, 16})}));
  FeatureMap features(space);
  ASSERT_EQ(features.size(), 3u);
  EXPECT_EQ(features.features()[2].level_of, (std::vector<std::uint8_t>{0, 1, 0, 2, 0}));
  std::vector<std::uint8_t> levels(3);
  features.encode(space.find(std::vector<std::uint16_t>{3, 4}).value(), levels.data());
  EXPECT_EQ(levels, (std::vector<std::uint8_t>{3, 4, 2}));
}

TEST(FeatureMap, LongListsShareLevels) {
  const SearchSpace space = SearchSpace::build(test::define({test::counting("a", 5000)}));
  const FeatureMap features(space);
  EXPECT_EQ(features.features()[0].positions.size(), FeatureMap::kMaxLevels);
  EXPECT_EQ(features.features()[0].level_of.back(), FeatureMap::kMaxLevels - 1);
}

}  // namespace
}  // namespace tunebook
