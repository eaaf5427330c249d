// tunebook replay, and how `tune` uses strategies.
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli_support.h"
#include "support/synthetic_recording.h"

namespace tunebook::test {
namespace {

using Words = std::vector<std::string>;

class ReplayVerb : public CliTest {
 protected:
  ReplayVerb() : recording_(write_synthetic_recording(folder(), "small", 3, 2000).string() + ".json") {}

  Words replay(const Words& more) const {
    Words words = {"replay", recording_};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Words tune(const Words& more) const {
    Words words = {"tune", "synthetic", "--device", "replay:" + recording_, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  std::string recording_;
};

TEST_F(ReplayVerb, ScoresAreTheSameOnAnyNumberOfThreads) {
  const Words words = replay({"--strategies", "auto,random", "--seeds", "4", "--budget", "60", "--json"});
  Words alone = words;
  alone.insert(alone.end(), {"--threads", "1"});
  auto one = run_json(words);
  auto two = run_json(alone);
  ASSERT_EQ(one["scores"].size(), 2u);
  EXPECT_EQ(one["seeds"], 4);
  EXPECT_EQ(one["spaces"][0]["valid"], 2000);
  EXPECT_EQ(one["scores"][0]["strategy"], "auto");
  EXPECT_TRUE(one["scores"][0]["P"]["value"].is_number());
  EXPECT_GE(one["scores"][0]["best_over_optimum"]["50"]["value"].get<double>(), 1);
  EXPECT_EQ(one["scores"][0]["horizon"], 60);
  for (auto* result : {&one, &two}) {
    for (auto& score : (*result)["scores"]) score.erase("ms_per_proposal");
  }
  EXPECT_EQ(one, two);
}

TEST_F(ReplayVerb, TableAndPage) {
  const std::string page = (folder() / "scores.html").string();
  const ProgramResult result = run(replay({"--strategies", "genetic,random", "--seeds", "3", "--budget", "50", "--html", page}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("genetic"), std::string::npos);
  EXPECT_NE(result.out.find("mean over 1 spaces"), std::string::npos) << result.out;
  const std::string html = read_file(page);
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_EQ(html.find("://"), std::string::npos) << "a page that fetches nothing";
}

TEST_F(ReplayVerb, BadQuestions) {
  expect_bad_input(replay({"--strategies", "automatic"}), {"unknown strategy", "auto"});
  expect_bad_input(replay({"--set", "genetic.population"}), {"--set genetic.population", "STRATEGY.NAME=NUMBER"});
  expect_bad_input(replay({"--set", "genetic.size=3"}), {"has no setting \"size\"", "population"});
  expect_bad_input(replay({recording_}), {"given twice"});
  expect_bad_input({"replay", (folder() / "none.json").string()}, {"none.json"});
  expect_bad_input(replay({"--html", (folder() / "no" / "folder.html").string()}), {"--html", "cannot be written"});
}

TEST_F(ReplayVerb, AFolderStandsForItsRecordings) {
  const std::string other = write_synthetic_recording(folder(), "other", 4, 500).string() + ".json";
  const Words options = {"--strategies", "random", "--seeds", "3", "--budget", "40", "--threads", "1", "--json"};
  Words by_folder = {"replay", folder().string()};
  Words by_file = {"replay", other, recording_};  // in the order of their names
  for (Words* words : {&by_folder, &by_file}) words->insert(words->end(), options.begin(), options.end());
  auto one = run_json(by_folder);
  auto two = run_json(by_file);
  ASSERT_EQ(one["spaces"].size(), 2u);
  EXPECT_EQ(one["spaces"][0]["space"], "other");
  EXPECT_EQ(one["spaces"][0]["valid"], 500);
  for (auto* result : {&one, &two}) {
    for (auto& score : (*result)["scores"]) score.erase("ms_per_proposal");
  }
  EXPECT_EQ(one, two);
  expect_bad_input({"replay", folder().string(), recording_}, {"given twice"});
  // Both are of the kernel "synthetic": tune has to be told which.
  expect_bad_input({"tune", "synthetic", "--device", "replay:" + folder().string()}, {"2 recordings of kernel 'synthetic'", "name one"});
  expect_bad_input({"tune", "matmul", "--device", "replay:" + folder().string()}, {"no recording of kernel 'matmul'", "synthetic"});
}

TEST_F(ReplayVerb, TuneFindsTheRecordingOfAKernelInAFolder) {
  expect_bad_input({"tune", "synthetic", "--device", "replay:" + folder().string(), "--shape", "3,3"}, {"--shape 3,3", "not recorded"});
  const auto by_folder = run_json({"tune", "synthetic", "--device", "replay:" + folder().string(), "--json", "--budget", "30"});
  EXPECT_EQ(by_folder["session"], run_json(tune({"--budget", "30"}))["session"]);
}

TEST_F(ReplayVerb, AutoIsTheDefaultOfTune) {
  const auto by_default = run_json(tune({"--budget", "80", "--seed", "2"}));
  const auto named = run_json(tune({"--budget", "80", "--seed", "2", "--strategy", "auto"}));
  EXPECT_EQ(by_default["session"], named["session"]);
}

TEST_F(ReplayVerb, BudgetAutoEndsWhereLittleIsExpected) {
  const auto tuned = run_json(tune({"--budget", "auto", "--seed", "2"}));
  std::int64_t trials = 0;
  for (const auto& [outcome, count] : tuned["trials"].items()) trials += count.get<std::int64_t>();
  EXPECT_GT(trials, 20);
  EXPECT_LE(trials, 1000);
  if (trials < 1000) {
    EXPECT_LT(tuned["ended_at_expected_improvement"].get<double>(), 0.01);
  }
}

}  // namespace
}  // namespace tunebook::test
