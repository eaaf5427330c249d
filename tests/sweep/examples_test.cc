// The plans that are shipped as examples stand for what they say.
#include <filesystem>
#include <map>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "sweep/plan.h"
#include "sweep/prepare.h"

namespace tunebook {
namespace {

std::filesystem::path source(const std::string& path) { return std::filesystem::path(TUNEBOOK_SOURCE_DIR) / path; }

struct Example {
  const char* file;
  const char* device;
  std::size_t kernels;
};

class SweepExamples : public testing::TestWithParam<Example> {};

TEST_P(SweepExamples, StandForEightShapesOfEachKernel) {
  const SweepPlan plan = read_plan(source(std::string("tuner/sweep/examples/") + GetParam().file), {{source("templates").string()}});
  EXPECT_TRUE(plan.notes.empty());
  EXPECT_EQ(plan.duplicates, 0U);
  EXPECT_EQ(plan.items.size(), 8 * GetParam().kernels);
  std::map<std::string, int> shapes;
  for (const SweepItem& item : plan.items) {
    ++shapes[item.kernel];
    EXPECT_EQ(item.device, GetParam().device);
    EXPECT_EQ(std::get<std::string>(*item.problem.find("dtype")), "f32");
    EXPECT_EQ(item.settings.budget.find_first_not_of("0123456789"), std::string::npos) << "a number of trials: the same work whatever the machine";
  }
  EXPECT_EQ(shapes.size(), GetParam().kernels);
  for (const auto& [kernel, count] : shapes) EXPECT_EQ(count, 8) << kernel;
  // What --dry-run shows on a machine that has neither the device nor a book.
  PrepareOptions options;
  options.book = "/nonexistent/book.db";
  options.now = options.sweep_start = 1.8e9;
  options.ask_devices = false;
  for (const FrozenItem& frozen : prepare(plan, options).plan.items) {
    EXPECT_EQ(frozen.decision.action, Action::tune);
    EXPECT_GT(frozen.estimate.seconds, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, SweepExamples, testing::Values(Example{"one_gpu.json", "cuda:0", 5}, Example{"two_gpus.json", "cuda", 6}),
                         [](const auto& parameter) { return std::string(parameter.param.file).substr(0, 3); });

// Every plan beside them is one of these.
TEST(SweepExampleFiles, AreAllTested) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source("tuner/sweep/examples"))) files += entry.path().extension() == ".json" ? 1 : 0;
  EXPECT_EQ(files, 2U);
}

}  // namespace
}  // namespace tunebook
