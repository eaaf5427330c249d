#include "learn/tree_trainer.h"

#include <cmath>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"

namespace tunebook::learn {
namespace {

// Labels with a jump and an interaction; some values repeat, some are far apart.
struct Sample {
  Matrix rows;
  std::vector<float> labels;
};
Sample sample(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Sample result;
  result.rows.columns = 4;
  for (std::size_t i = 0; i < count; ++i) {
    const double a = random.uniform(), b = static_cast<double>(std::int64_t{1} << random.below(40));
    const double c = random.below(2) == 0 ? TimeModel::kNoValue : 3, d = random.normal();
    for (const double value : {a, b, c, d}) result.rows.values.push_back(static_cast<float>(value));
    result.labels.push_back(static_cast<float>(0.4 * a + (b > 1e6 ? 0.3 : 0) * (c < 0 ? 1 : 0.2)));
  }
  return result;
}

TimeModel as_model(const Trees& trees) {
  TimeModel model;
  model.roots = trees.roots;
  model.nodes = trees.nodes;
  model.base = trees.base;
  return model;
}

TEST(TreeTrainer, PredictsWhatXgboostPredicts) {
  const Sample given = sample(3000, 1);
  std::vector<float> theirs;
  const TimeModel model = as_model(train_trees(given.rows, given.labels, TreeSettings(), &theirs));
  ASSERT_EQ(theirs.size(), given.rows.rows());
  ASSERT_EQ(model.roots.size(), 200U);
  double error = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const double ours =
        static_cast<double>(model.predict(given.rows.row(i))) * TimeModel::kLossUnit;
    EXPECT_NEAR(ours, theirs[i], 1e-4);
    error += std::abs(ours - given.labels[i]);
  }
  EXPECT_LT(error / static_cast<double>(theirs.size()), 0.02) << "it has learned something";
}

TEST(TreeTrainer, IsTheSameEveryTimeAndBesideOthers) {
  const Sample given = sample(500, 2);
  const Trees alone = train_trees(given.rows, given.labels, TreeSettings());
  Trees first, second;
  {
    const std::jthread other(
        [&] { first = train_trees(given.rows, given.labels, TreeSettings()); });
    second = train_trees(given.rows, given.labels, TreeSettings());
  }
  for (const Trees* const again : {&first, &second}) {
    EXPECT_EQ(again->nodes, alone.nodes);
    EXPECT_EQ(again->roots, alone.roots);
    EXPECT_EQ(again->base, alone.base);
  }
}

TEST(TreeTrainer, ReadsTheJsonOfAModel) {
  // x0 < 2.5 ? 0.25 : (x1 < -1 ? -0.5 : 0.125)
  const Trees trees = trees_from_json(R"({"learner": {"gradient_booster": {"model": {"trees": [
      {"left_children": [2, 3, -1, -1, -1], "right_children": [1, 4, -1, -1, -1], "split_indices": [0, 1, 0, 0, 0],
       "split_conditions": [2.5, -1, 0.25, -0.5, 0.125]}]}}}})",
                                      2, 0.5);
  const TimeModel model = as_model(trees);
  const auto loss = [&](float x, float y) {
    const float values[] = {x, y};
    return static_cast<double>(model.predict(values)) * TimeModel::kLossUnit;
  };
  EXPECT_EQ(loss(2, 0), 0.75);
  EXPECT_EQ(loss(2.5, -2), 0);
  EXPECT_EQ(loss(3, -1), 0.625);
}

TEST(TreeTrainer, RefusesJsonOfAnotherForm) {
  const auto tree = [](const std::string& text) {
    return R"({"learner": {"gradient_booster": {"model": {"trees": [)" + text + "]}}}}";
  };
  EXPECT_THROW(trees_from_json("", 1, 0), EnvironmentError);
  EXPECT_THROW(trees_from_json("{}", 1, 0), EnvironmentError);
  EXPECT_THROW(
      trees_from_json(R"({"learner": {"gradient_booster": {"model": {"trees": 3}}}})", 1, 0),
      EnvironmentError);
  EXPECT_THROW(trees_from_json(tree(R"({"left_children": [1, -1]})"), 1, 0), EnvironmentError);
  // A feature, a child or a number that cannot be.
  for (
      const char* const bad :
      {R"({"left_children": [1, -1, -1], "right_children": [2, -1, -1], "split_indices": [7, 0, 0], "split_conditions": [1, 1, 1]})",
       R"({"left_children": [1, -1, -1], "right_children": [9, -1, -1], "split_indices": [0, 0, 0], "split_conditions": [1, 1, 1]})",
       R"({"left_children": [0, -1, -1], "right_children": [0, -1, -1], "split_indices": [0, 0, 0], "split_conditions": [1, 1, 1]})",
       R"({"left_children": [-1], "right_children": [-1], "split_indices": [0], "split_conditions": [1e300]})",
       R"({"left_children": [], "right_children": [], "split_indices": [], "split_conditions": []})",
       R"({"left_children": [1, -1, -1], "right_children": [2, -1], "split_indices": [0, 0, 0], "split_conditions": [1, 1, 1]})"}) {
    EXPECT_THROW(trees_from_json(tree(bad), 1, 0), EnvironmentError) << bad;
  }
}

TEST(TreeTrainer, FuzzedJsonIsReadOrRefused) {
  const std::string whole =
      R"({"learner": {"gradient_booster": {"model": {"trees": [{"left_children": [2, 3, -1, -1, -1], "right_children": [1, 4, -1, -1, -1], "split_indices": [0, 1, 0, 0, 0], "split_conditions": [2.5, -1, 0.25, -0.5, 0.125]}]}}}})";
  Random random(3);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (std::uint64_t change = 0; change <= random.below(3); ++change) {
      text[random.below(text.size())] = "0123456789-,.[]{}\"e"[random.below(19)];
    }
    try {
      const TimeModel model = as_model(trees_from_json(text, 2, 0));
      const float values[] = {0, 0};
      model.predict(values);
    } catch (const EnvironmentError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace tunebook::learn
