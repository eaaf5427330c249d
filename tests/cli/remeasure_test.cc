// compare --remeasure: both sides' winners timed again on the device here.
#include <filesystem>
#include <string>
#include <vector>

#include "cli_support.h"

namespace tunebook::test {
namespace {

using Words = std::vector<std::string>;

class RemeasureVerb : public CliTest {
 protected:
  std::string base() const { return folder() / "base.db"; }
  std::string candidate() const { return folder() / "candidate.db"; }

  // A kernel of the user's in a folder of this test.
  std::string templates() {
    const std::filesystem::path kernels = folder() / "kernels";
    if (!std::filesystem::exists(kernels)) {
      std::filesystem::create_directory(kernels);
      std::filesystem::copy(user_kernels() + "/vector_add", kernels / "vector_add");
    }
    return kernels;
  }

  void tune(const std::string& book, const std::string& shape, const std::string& config) {
    const ProgramResult result =
        run({"tune", "vector_add", "--templates", templates(), "--shape", shape, "--device", "cpu", "--book", book, "--budget", "2", "--where",
             config, "--finalists", "1", "--finalist-processes", "2", "--seed", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  Words compare(const Words& more) {
    Words words = {"compare", base(), candidate(), "--templates", templates(), "--remeasure", "--remeasure-processes", "3", "--fail-on", "never"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(RemeasureVerb, TimesBothWinnersHereAndLeavesTheBooksAlone) {
  tune(base(), "20000", "BLOCK_SIZE == 64");
  tune(candidate(), "20000", "BLOCK_SIZE == 256");
  tune(candidate(), "30000", "BLOCK_SIZE == 256");
  const std::string base_before = read_file(base()), candidate_before = read_file(candidate());
  const auto stored = run_json({"compare", base(), candidate(), "--fail-on", "never", "--json"});
  const auto again = run_json(compare({"--json"}));
  ASSERT_EQ(again["items"].size(), 2U);
  const auto& item = again["items"][0];
  EXPECT_EQ(item["problem"]["n"], 20000);
  EXPECT_TRUE(item["remeasured"]);
  EXPECT_EQ(item["base_processes"], 3);
  EXPECT_EQ(item["candidate_processes"], 3);
  EXPECT_GT(item["base_time"]["median_us"], 0);
  EXPECT_NE(item["base_time"], stored["items"][0]["base_time"]) << "measured now";
  EXPECT_FALSE(item["same_configuration"]);
  EXPECT_FALSE(stored["items"][0]["remeasured"]);
  EXPECT_EQ(again["items"][1]["verdict"], "only in candidate");
  EXPECT_EQ(read_file(base()), base_before);
  EXPECT_EQ(read_file(candidate()), candidate_before);
  EXPECT_TRUE(all_gone());
}

TEST_F(RemeasureVerb, AnotherVersionOfTheKernelIsTimedOnlyIfAllowed) {
  tune(base(), "20000", "BLOCK_SIZE == 64");
  tune(candidate(), "20000", "BLOCK_SIZE == 256");
  const std::filesystem::path source = std::filesystem::path(templates()) / "vector_add" / "kernel.cu";
  write("kernels/vector_add/kernel.cu", read_file(source) + "// another version\n");
  const ProgramResult refused = run(compare({}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--allow-different kernel"), std::string::npos) << refused.err;
  const auto allowed = run_json(compare({"--json", "--allow-different", "kernel"}));
  EXPECT_TRUE(allowed["items"][0]["remeasured"]);
}

TEST_F(RemeasureVerb, WhatCannotBeTimedHereSaysWhy) {
  tune(base(), "20000", "BLOCK_SIZE == 64");
  tune(candidate(), "20000", "BLOCK_SIZE == 256");
  ProgramResult result = run({"compare", base(), candidate(), "--remeasure", "--templates", fault_kernels()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("vector_add"), std::string::npos) << result.err;
  result = run(compare({"--remeasure-device", "replay:nowhere"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--remeasure-device"), std::string::npos) << result.err;
  result = run({"compare", base(), candidate(), "--remeasure-processes", "3"});
  EXPECT_EQ(result.exit_code, 2) << "it belongs to --remeasure";
}

}  // namespace
}  // namespace tunebook::test
