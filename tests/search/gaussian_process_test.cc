#include "search/gaussian_process.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.h"
#include "search_fixtures.h"

namespace tunebook {
namespace {

struct Data {
  std::vector<std::uint8_t> levels;
  std::vector<double> targets;
};

// Depends on the first parameter, hardly on the second, not on the third.
double truth(const std::vector<std::uint8_t>& levels) { return std::sin(levels[0] * 0.5) + 0.05 * levels[1]; }

Data sample(const FeatureMap& features, int count, std::uint64_t seed) {
  Random random(seed);
  Data data;
  double mean = 0;
  for (int n = 0; n < count; ++n) {
    std::vector<std::uint8_t> levels;
    for (const auto& feature : features.features()) levels.push_back(static_cast<std::uint8_t>(random.below(feature.positions.size())));
    data.levels.insert(data.levels.end(), levels.begin(), levels.end());
    data.targets.push_back(truth(levels));
    mean += data.targets.back() / count;
  }
  for (double& target : data.targets) target -= mean;
  return data;
}

TEST(GaussianProcess, InterpolatesAndGeneralises) {
  const SearchSpace space = SearchSpace::build(test::define({test::counting("a", 12), test::counting("b", 4), test::counting("c", 16)}));
  const FeatureMap features(space, false);
  GaussianProcess model(features, {});
  const Data data = sample(features, 60, 1);
  model.fit(data.levels, data.targets, 30);
  const Data test = sample(features, 40, 2);
  for (std::size_t n = 0; n < test.targets.size(); ++n) model.add_candidate(&test.levels[n * 3]);
  for (std::size_t n = 0; n < data.targets.size(); ++n) model.add_point(&data.levels[n * 3]);
  std::vector<double> means;
  model.means(data.targets, means);
  double error = 0;
  double spread = 0;
  const double offset = test.targets[0] - means[0];  // both are centred, each on its own mean
  for (std::size_t n = 0; n < means.size(); ++n) {
    error += (test.targets[n] - means[n] - offset) * (test.targets[n] - means[n] - offset);
    spread += test.targets[n] * test.targets[n];
  }
  EXPECT_LT(error, 0.05 * spread);
}

TEST(GaussianProcess, OrderOfPointsAndCandidatesDoesNotMatter) {
  const SearchSpace space = SearchSpace::build(test::define({test::counting("a", 12), test::counting("b", 4), test::counting("c", 16)}));
  const FeatureMap features(space, false);
  const Data data = sample(features, 20, 3);
  const Data test = sample(features, 10, 4);
  GaussianProcess first(features, {});
  GaussianProcess second(features, {});
  for (std::size_t n = 0; n < 10; ++n) first.add_candidate(&test.levels[n * 3]);
  for (std::size_t n = 0; n < 20; ++n) first.add_point(&data.levels[n * 3]);
  for (std::size_t n = 0; n < 20; ++n) second.add_point(&data.levels[n * 3]);
  for (std::size_t n = 0; n < 10; ++n) second.add_candidate(&test.levels[n * 3]);
  std::vector<double> x, y;
  first.means(data.targets, x);
  second.means(data.targets, y);
  for (std::size_t n = 0; n < 10; ++n) {
    EXPECT_NEAR(x[n], y[n], 1e-3);
    EXPECT_NEAR(first.variances()[n], second.variances()[n], 1e-3);
  }
}

TEST(GaussianProcess, VarianceFallsNearPointsAlsoWithoutTargets) {
  const SearchSpace space = SearchSpace::build(test::define({test::counting("a", 12)}));
  const FeatureMap features(space, false);
  GaussianProcess model(features, {});
  const std::uint8_t near = 5;
  const std::uint8_t far = 11;
  model.add_candidate(&near);
  model.add_candidate(&far);
  EXPECT_FLOAT_EQ(model.variances()[0], 1);
  const std::uint8_t point = 4;
  model.add_point(&point);
  EXPECT_LT(model.variances()[0], 0.5);
  EXPECT_GT(model.variances()[1], model.variances()[0]);
  std::vector<double> means;
  model.means(std::vector<double>{}, means);
  EXPECT_EQ(means, (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace tunebook
