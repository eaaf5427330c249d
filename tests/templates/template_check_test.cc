// Every bundled template through `check`, as its users run it: presets of each data type on every small size and on random shapes.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/cli_support.h"

namespace tunebook::test {
namespace {

const std::string kTemplates = TUNEBOOK_SOURCE_DIR "/templates";

std::vector<std::string> kernels() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kTemplates)) {
    if (std::filesystem::exists(entry.path() / "kernel.json")) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class TemplateCheck : public CliTest, public testing::WithParamInterface<std::string> {};

TEST_P(TemplateCheck, IsRightOnManyShapesOnTheCpu) {
  const auto checked = run_json({"check", GetParam(), "--templates", kTemplates, "--device", "cpu", "--samples", "0", "--shapes", "40", "--json"}, 600);
  EXPECT_EQ(checked["passed"], true) << checked["problems"].dump() << checked["lint"].dump();
  EXPECT_EQ(checked["problems"].size(), 0U) << checked["problems"].dump();
  std::size_t samples = 0;
  for (const auto& sample : checked["samples"]) {
    ++samples;
    EXPECT_EQ(sample["outcome"], "ok") << sample.dump();
    EXPECT_EQ(sample["sample"].get<std::string>().find("run on 0 problems"), std::string::npos) << sample.dump();
  }
  EXPECT_GE(samples, 2U);
}

INSTANTIATE_TEST_SUITE_P(Bundled, TemplateCheck, testing::ValuesIn(kernels()), [](const auto& named) { return named.param; });

}  // namespace
}  // namespace tunebook::test
