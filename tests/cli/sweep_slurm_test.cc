// A sweep in parts as users of a cluster run it, with a stand-in for Slurm's commands; on a real Slurm: tests/sweep/slurm_test.py.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "db/store.h"
#include "sweep_fixture.h"

namespace tunebook::test {
namespace {

constexpr int kKernels = 3, kShapes = 2;
constexpr int kItems = kKernels * kShapes;

class SlurmSweep : public SweepCliTest {
 protected:
  SlurmSweep() {
    record("gpu_a", kKernels, kShapes, 40);
    std::filesystem::create_directories(folder() / "bin");
    std::filesystem::create_directories(folder() / "local");
    slurm("sbatch", "case $1 in --version) echo 22;; *) echo 41;; esac");
    slurm("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    set_environment("PATH", (folder() / "bin").string() + ":" + std::getenv("PATH"));
    set_environment("TMPDIR", (folder() / "local").string());
  }
  void slurm(const std::string& command, const std::string& text) const {
    const auto path = folder() / "bin" / command;
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    chmod(path.c_str(), 0755);
  }
  std::filesystem::path shared() const { return folder() / "shared"; }
  // Sessions do not learn from each other, so that it does not matter which are in one part.
  std::filesystem::path plan() { return SweepCliTest::plan(kKernels, {"replay:gpu_a"}, R"({"from_book": false})"); }
  Words submit(const Words& more = {}) {
    Words words = sweep(plan(), {"--slurm", "--slurm-folder", shared().string(), "--slurm-shards", "2"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Words part(int shard) const { return {"sweep", "--frozen", (shared() / "plan.json").string(), "--shard", std::to_string(shard), "--json"}; }
  Words merge() const { return {"sweep", "--frozen", (shared() / "plan.json").string(), "--merge", "--json"}; }
};

TEST_F(SlurmSweep, ThePartsTogetherAreTheSweepOnOneMachine) {
  const auto submitted = run_json(submit());
  EXPECT_EQ(submitted["submitted"], true);
  EXPECT_EQ(submitted["shards"].size(), 2u);
  EXPECT_EQ(submitted["merge"], "41");
  for (const int shard : {0, 1}) {
    const auto ended = run_json(part(shard));
    EXPECT_EQ(ended["exit_code"], 0);
    EXPECT_EQ(ended["summary"]["ended"], "complete");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder() / "local"));
  EXPECT_FALSE(std::filesystem::exists(book()));
  const auto merged = run_json(merge());
  EXPECT_EQ(merged["sessions"], kItems);
  EXPECT_TRUE(merged["missing"].empty());
  // The same plan without Slurm, in a book of its own.
  run_json(sweep(plan()));
  EXPECT_EQ(fingerprint(shared() / "merged.db"), fingerprint(book()));
  EXPECT_EQ(fingerprint(book()).size(), static_cast<std::size_t>(kItems));

  EXPECT_EQ(run_json(submit())["submitted"], false) << "every shard is complete";
}

TEST_F(SlurmSweep, WhatIsMissingIsSaidAndSubmittedAgain) {
  run_json(submit());
  EXPECT_EQ(run(part(0)).exit_code, 0);
  const ProgramResult missing = run(merge());
  EXPECT_EQ(missing.exit_code, 1);
  const auto json = parse_one_line(missing.out);
  EXPECT_EQ(json["missing"].size(), json["shards"][1]["items"].get<std::size_t>());
  EXPECT_NE(missing.err.find("submits what is missing"), std::string::npos) << missing.err;

  const auto again = run_json(submit());
  ASSERT_EQ(again["shards"].size(), 1u);
  EXPECT_EQ(again["shards"][0]["shard"], 1);
  slurm("squeue", "echo 41_1");
  const ProgramResult queued = run(submit());
  EXPECT_EQ(queued.exit_code, 2);
  EXPECT_NE(queued.err.find("still in the queue (41_1"), std::string::npos) << queued.err;
}

TEST_F(SlurmSweep, TheBookThatItBeganWithIsInEveryPartAndOnceInTheEnd) {
  run_json(sweep(plan()));
  // Retimed, since that is the rule.
  const auto submitted = run_json(submit({"--slurm-into-book"}));
  EXPECT_EQ(submitted["shards"].size(), 2u);
  EXPECT_EQ(run(part(0)).exit_code, 0);
  EXPECT_EQ(run(part(1)).exit_code, 0);
  Words into = merge();
  into.push_back("--slurm-into-book");
  const auto merged = run_json(into);
  EXPECT_TRUE(merged["missing"].empty());
  EXPECT_EQ(merged["sessions_added"], kItems);
  EXPECT_EQ(count("SELECT count(*) FROM session"), 2 * kItems);
  EXPECT_EQ(fingerprint(book()), fingerprint(shared() / "merged.db"));
}

TEST_F(SlurmSweep, WithDryRunNothingIsWritten) {
  slurm("sbatch", "exit 1");
  const auto shown = run_json(submit({"--dry-run"}));
  EXPECT_EQ(shown["submitted"], false);
  EXPECT_EQ(shown["commands"].size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(shared()));
}

TEST_F(SlurmSweep, BadInputIsToldAndNothingIsSubmitted) {
  expect_bad_input(submit({"--slurm-option", "array=3"}), {"array=3", "given by Tunebook"});
  expect_bad_input(submit({"--slurm-option", "cuda@gres=gpu:1"}), {"'cuda' is no device of the plan", "replay:"});
  expect_bad_input(submit({"--on-finish", "true"}), {"--slurm", "--on-finish"});
  expect_bad_input({"sweep"}, {"PLAN.json"});
  expect_bad_input({"sweep", "--shard", "0"}, {"--shard requires --frozen"});
  expect_bad_input({"sweep", "--frozen", "nowhere.json", "--merge"}, {"nowhere.json"});
  expect_bad_input({"sweep", "--frozen", plan().string(), "--merge"}, {"tunebook_frozen_plan"});
  const std::vector<Words> without_effect = {{"--dry-run"}, {"--time", "8h"}, {"--until", "06:00"}, {"--templates", "/"}, {"--status", "s"}, {"--summary", "s"},
                                             {"--restart"}, {"--book", "b"}, {"--on-finish", "true"}};
  for (const Words& option : without_effect) {
    for (const Words& part : {Words{"--shard", "0"}, Words{"--merge"}}) {
      Words words = {"sweep", "--frozen", "nowhere.json"};
      words.insert(words.end(), part.begin(), part.end());
      words.insert(words.end(), option.begin(), option.end());
      expect_bad_input(words, {option[0] + ": it has no effect on a frozen plan"});
    }
  }
  expect_bad_input(sweep(plan(), {"--slurm-shards", "2"}), {"--slurm-shards requires --slurm"});
  slurm("sbatch", "echo 'sbatch: fatal: no cluster' >&2; exit 1");
  expect_bad_input(submit(), {"no cluster", "--dry-run"});
  EXPECT_FALSE(std::filesystem::exists(shared()));
}

}  // namespace
}  // namespace tunebook::test
