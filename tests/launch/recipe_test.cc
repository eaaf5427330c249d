// What a call launches, for a kernel of several launches.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/template_folder.h"
#include "launch/argument_rules.h"
#include "launch/kernel_choice.h"

namespace tunebook::testing {
namespace {

class Recipe : public ::testing::Test {
 protected:
  LaunchRecipe make(const char* configuration) const {
    KernelSpec::Scope scope = kernel_.spec.scope(problem_, KernelSpec::generic_device());
    const Configuration chosen = kernel_.spec.parse_configuration(configuration);
    kernel_.spec.bind(scope, chosen);
    LaunchPlan plan;
    plan.launches = plan_launches(kernel_.spec, problem_, chosen, scope);
    return recipe_of(kernel_.spec, problem_, plan, {"first", "second", "third"});
  }

  KernelTemplate kernel_ = load_template(TUNEBOOK_SOURCE_DIR "/tests/data/user_kernels/smooth");
  Problem problem_ = kernel_.spec.parse_shape("1000,5");
};

std::int64_t number(const LaunchRecipe::OwnScalar& scalar) {
  std::int64_t value = 0;
  std::memcpy(&value, scalar.bytes.data(), sizeof value);
  return value;
}

TEST_F(Recipe, StepsHaveTheirKernelsAndNumbers) {
  const LaunchRecipe recipe = make("BLOCK=64,STEPS=2,SUM_BLOCKS=4");
  ASSERT_EQ(recipe.steps.size(), 3U + 1 + 1);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(recipe.steps[i].symbol, "first");
    ASSERT_EQ(recipe.steps[i].scalars.size(), 3U);  // first_step, launches and launch
    EXPECT_EQ(recipe.steps[i].scalars[0].argument, 8U);
    EXPECT_EQ(number(recipe.steps[i].scalars[0]), static_cast<std::int64_t>(2 * i));
    EXPECT_EQ(number(recipe.steps[i].scalars[1]), 3);
    EXPECT_EQ(number(recipe.steps[i].scalars[2]), static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(recipe.steps[3].symbol, "second");
  EXPECT_EQ(recipe.steps[3].shape.grid[0], 4);
  EXPECT_EQ(recipe.steps[4].symbol, "third");
}

TEST_F(Recipe, TheCallerGivesWhatDoesNotDependOnTheConfiguration) {
  const LaunchRecipe recipe = make("BLOCK=64,STEPS=1,SUM_BLOCKS=4");
  EXPECT_EQ(recipe.arguments, 11U);
  EXPECT_EQ(recipe.given, (std::vector<std::size_t>{0, 1, 2, 6, 7}));  // y, sum, x, n, steps
  ASSERT_EQ(recipe.workspaces.size(), 3U);
  EXPECT_EQ(recipe.workspaces[0].bytes, 4000U);
  EXPECT_EQ(recipe.workspaces[1].bytes, 32U);
  EXPECT_FALSE(recipe.workspaces[1].zero);
  EXPECT_TRUE(recipe.workspaces[2].zero);

  const ArgumentRules rules(kernel_.spec, problem_);
  const std::vector<ArgumentShape> good = {ArgumentShape::of<float*>(), ArgumentShape::of<double*>(), ArgumentShape::of<const float*>(),
                                           ArgumentShape::of<std::int64_t>(), ArgumentShape::of<std::int64_t>()};
  EXPECT_NO_THROW(rules.check(good.data(), good.size()));
  std::vector<ArgumentShape> all = good;
  all.insert(all.begin() + 3, 3, ArgumentShape::of<float*>());
  EXPECT_THROW(rules.check(all.data(), all.size()), std::invalid_argument);
}

}  // namespace
}  // namespace tunebook::testing
