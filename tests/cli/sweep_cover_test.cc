// Plans that name a region, as their users run them: on the cpu device, with a kernel that compiles
// in no time.
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "cli_support.h"

namespace tunebook::test {
namespace {

using Words = std::vector<std::string>;

class SweepCover : public CliTest {
 protected:
  Words sweep(const std::string& entry, Words more = {}) {
    const std::filesystem::path file = folder() / "plan.json";
    std::ofstream(file) << R"({"tunebook": 1, "devices": "cpu", "budget": 4, "finalists": 2,
      "finalist_processes": 1, "baseline": false, "sessions": [{"kernels": "vector_add", )"
                        << entry << "}]}";
    Words words = {"sweep", file.string(), "--templates", user_kernels()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(SweepCover, ADryRunShowsWhatItWouldChooseAndWhy) {
  const auto json =
      run_json(sweep(R"("cover": {"n": {"from": 1, "to": 65536}})", {"--dry-run", "--json"}));
  ASSERT_EQ(json["regions"].size(), 1u);
  const auto& region = json["regions"][0];
  EXPECT_EQ(region["model"], false);
  EXPECT_EQ(region["covered"], false);
  EXPECT_EQ(region["target_loss"], 0.03);
  ASSERT_EQ(region["first"].size(), 5u);
  std::set<std::string> problems;
  for (const auto& first : region["first"]) {
    problems.insert(first["problem"].dump());
    EXPECT_NE(first["reason"].get<std::string>().find("expected to lose"), std::string::npos);
  }
  EXPECT_EQ(problems.size(), 5u);
  const ProgramResult text =
      run(sweep(R"("cover": {"n": {"from": 1, "to": 65536}})", {"--dry-run"}));
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("would be tuned"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("nothing is tuned here yet"), std::string::npos) << text.out;
}

TEST_F(SweepCover, TunesWhatItChoosesAndSaysWhatItAchieved) {
  const auto summary = run_json(sweep(R"("cover": {"n": [96, 4096]})", {"--json"}));
  EXPECT_EQ(summary["ended"], "complete");
  EXPECT_EQ(summary["items"]["done"], 2);
  ASSERT_EQ(summary["regions"].size(), 1u);
  EXPECT_EQ(summary["regions"][0]["tuned"], 2);
  EXPECT_GT(summary["regions"][0]["before"].get<double>(), 0.2);
  EXPECT_EQ(summary["regions"][0]["now"], 0.0);
  // Every shape of the region has its winner now: nothing is left.
  const auto again = run_json(sweep(R"("cover": {"n": [96, 4096]})", {"--json"}));
  EXPECT_EQ(again["items"]["all"], 0);
  EXPECT_EQ(again["regions"][0]["before"], 0.0);
}

TEST_F(SweepCover, ItCannotBeFrozen) {
  const ProgramResult result =
      run(sweep(R"("cover": {"n": [96, 4096]})", {"--slurm", "--dry-run"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("/sessions/0: \"cover\" cannot be frozen"), std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace tunebook::test
