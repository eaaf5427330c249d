// What compiling ahead is worth, on configurations of bundled templates that were recorded on a GPU with their resources.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "search/recording.h"
#include "search/score.h"
#include "search/strategy.h"

namespace tunebook {
namespace {

ScoredSpace recorded(const std::string& name) {
  return ScoredSpace(Recording::load(TUNEBOOK_SOURCE_DIR "/tests/data/recorded/" + name));
}

struct Mean {
  double after_15 = 0;  // best over optimum
  double foreseen = 0;
};

Mean mean_of(const ScoredSpace& space, const std::string& strategy, bool foresight) {
  constexpr int kSeeds = 40;
  Mean mean;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Trajectory run = run_strategy(*make_strategy(strategy, space.space(), seed), space, 15, 1, foresight);
    mean.after_15 += space.value(run.steps.back().rank) / space.optimum() / kSeeds;
    mean.foreseen += static_cast<double>(run.foreseen) / kSeeds;
  }
  return mean;
}

TEST(Foresight, FindsFastConfigurationsSoonerWhereManySpill) {
  const ScoredSpace space = recorded("conv2d_nchw__H200");
  ASSERT_TRUE(space.has_resources());
  ASSERT_EQ(space.valid(), 397u);
  for (const std::string name : {"surrogate", "auto"}) {
    const Mean with = mean_of(space, name, true);
    const Mean without = mean_of(space, name, false);
    EXPECT_LT(with.after_15, without.after_15 - 0.1) << name;
    EXPECT_GE(with.foreseen, 15) << name;
    EXPECT_LE(with.foreseen, 30) << name;
    EXPECT_EQ(without.foreseen, 0) << name;
  }
}

TEST(Foresight, DoesNoHarmWhereFewSpill) {
  const ScoredSpace space = recorded("matmul__H200");
  ASSERT_TRUE(space.has_resources());
  EXPECT_LT(mean_of(space, "surrogate", true).after_15, mean_of(space, "surrogate", false).after_15 + 0.005);
}

TEST(Foresight, IsOfNoUseToOtherStrategies) {
  const ScoredSpace space = recorded("conv2d_nchw__H200");
  for (const std::string name : {"random", "genetic", "local_search"}) EXPECT_EQ(mean_of(space, name, true).foreseen, 0) << name;
}

}  // namespace
}  // namespace tunebook
