#include "session/compile_cost.h"

#include <gtest/gtest.h>

namespace tunebook {
namespace {

Configuration configuration(std::int64_t tile, std::int64_t block) {
  Configuration result;
  result.set("TILE", tile);
  result.set("BLOCK", block);
  result.set("KIND", std::string("plain"));
  return result;
}

TEST(CompileCostModel, LearnsWhichParameterTakesLong) {
  CompileCostModel model;
  EXPECT_GT(model.relative_cost(configuration(8, 64)), model.relative_cost(configuration(4, 64)));  // a guess
  for (const std::int64_t block : {32, 64, 128}) {
    for (const std::int64_t tile : {1, 2, 4}) model.observe(configuration(tile, block), 0.05 * static_cast<double>(tile));
  }
  EXPECT_GT(model.relative_cost(configuration(4, 32)), model.relative_cost(configuration(1, 128)));
  EXPECT_GT(model.relative_cost(configuration(16, 64)), model.relative_cost(configuration(4, 64)));  // never seen
}

TEST(CompileCostModel, AnswersFromTheCacheTeachNothing) {
  CompileCostModel model;
  const double before = model.relative_cost(configuration(4, 32));
  for (const std::int64_t tile : {1, 2, 4}) model.observe(configuration(tile, 32), 0);
  EXPECT_EQ(model.relative_cost(configuration(4, 32)), before);
}

}  // namespace
}  // namespace tunebook
