#include "sweep/shard_merge.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "sweep/slurm_partition.h"

namespace tunebook::testing {
namespace {

namespace fs = std::filesystem;
using Shards = std::vector<std::vector<std::size_t>>;

FrozenItem item(std::int64_t m, const std::string& device, double seconds, Action action = Action::tune) {
  FrozenItem item;
  item.item.kernel = "matmul";
  item.item.problem = matmul_problem(m, 64, 64);
  item.item.device = device;
  item.decision.action = action;
  item.estimate = {seconds, 0.1, "a guess"};
  return item;
}

class ShardMergeTest : public BookTest {
 protected:
  void SetUp() override {
    BookTest::SetUp();
    setenv("TMPDIR", folder_.c_str(), 1);
    setenv("TUNEBOOK_CACHE", (folder_ / "cache").c_str(), 1);
    plan_.name = "nightly";
    plan_.plan_hash = std::string(32, 'a');
    plan_.items = {item(64, "cuda", 10), item(128, "cuda:1", 20), item(192, "cuda", 0, Action::fresh), item(256, "cuda", 5), item(320, "cuda", 5)};
    plan_.shards = {{0, 3}, {1, 4}};
    fs::create_directories(folder_ / "shared");
    std::ofstream(folder_ / "shared" / "plan.json") << "frozen";
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    unsetenv("TUNEBOOK_CACHE");
    BookTest::TearDown();
  }
  SweepFolder sweep() const { return SweepFolder::of(folder_ / "shared" / "plan.json"); }
  static void add_session(const fs::path& book, std::int64_t m) {
    Store store(book);
    add_finished_session(store, some_context(), matmul_problem(m, 64, 64), tile(32), 10, static_cast<std::uint64_t>(m));
  }
  // A task of the shard that finishes these sessions.
  void run_shard(std::size_t shard, const std::vector<std::int64_t>& sessions, int exit_code = 0, bool interrupted = false, const nlohmann::ordered_json& results = nullptr) const {
    run_shard_task({sweep(), shard, 2, 1e6, [] { return false; }, [](const std::string&) {}}, [&](const fs::path& book, const auto&) {
      for (const std::int64_t m : sessions) add_session(book, m);
      nlohmann::ordered_json summary = {{"by", shard}};
      if (!results.is_null()) summary["results"] = results;
      return ShardEnd{exit_code, interrupted, summary};
    });
  }
  SweepMerge merge() {
    said_.clear();
    return merge_sweep(sweep(), plan_, [this](const std::string& message) { said_ += message + "\n"; });
  }
  std::string sessions() const { return query_text(sweep().merged(), "SELECT count(*) FROM session"); }

  FrozenPlan plan_;
  std::string said_;
};

TEST_F(ShardMergeTest, EverySessionIsThereOnceAndSoIsWhatTheSweepBeganWith) {
  add_session(file(), 192);
  stage_base(sweep(), file());
  run_shard(0, {64, 256});
  run_shard(1, {128, 320}, 3);
  const SweepMerge merged = merge();
  EXPECT_EQ(merged.exit_code, 3) << "a regression in one of them";
  EXPECT_TRUE(merged.missing.empty());
  EXPECT_EQ(merged.sessions, 5);
  EXPECT_EQ(merged.added.sessions, 4) << "each shard's book has the first one, too";
  EXPECT_EQ(sessions(), "5");
  EXPECT_EQ(query_text(sweep().merged(), "PRAGMA journal_mode"), "delete");
  EXPECT_EQ(query_text(sweep().merged(), "SELECT count(*) FROM (SELECT 1 FROM session JOIN problem ON problem.id = problem_id GROUP BY json)"), "5");
  ASSERT_EQ(merged.shards.size(), 2U);
  EXPECT_TRUE(merged.shards[1].complete());
  EXPECT_EQ(merged.shards[1].finished, 2U);
  const auto json = merged.to_json(plan_);
  EXPECT_EQ(json["shards"][1]["summary"], (nlohmann::ordered_json{{"by", 1}}));
  EXPECT_EQ(json["exit_code"], 3);
}

// A shard found one of its items slower (p = 0.025); among all four of the night that may be chance.
TEST_F(ShardMergeTest, WinnersAreJudgedOverAllShardsTogether) {
  using Times = std::vector<double>;
  const auto result = [&](std::size_t item, const Times& before, const Times& now) {
    return nlohmann::ordered_json{{"id", plan_.items[item].item.id()}, {"previous", {{"process_medians_us", before}}}, {"winner", {{"process_medians_us", now}}}};
  };
  const Times steady = {100, 100.1, 99.9, 100, 100.1}, before = {100, 103, 98, 101, 99}, now = {104, 108, 101, 106, 103};
  run_shard(0, {64, 256}, 3, false, {result(0, before, now), result(3, steady, steady)});
  run_shard(1, {128, 320}, 0, false, {result(1, steady, steady), result(4, steady, steady)});
  const SweepMerge merged = merge();
  EXPECT_EQ(merged.exit_code, 0);
  EXPECT_EQ(merged.to_json(plan_)["verdicts"], (nlohmann::ordered_json{{"regression", 0}, {"improvement", 0}, {"unchanged", 3}, {"inconclusive", 1}}));
}

TEST_F(ShardMergeTest, ASlowerWinnerOfAnyShardIsExitCodeThree) {
  const auto result = [&](std::size_t item, const std::vector<double>& now) {
    return nlohmann::ordered_json{{"id", plan_.items[item].item.id()}, {"previous", {{"process_medians_us", {100, 100.1, 99.9}}}}, {"winner", {{"process_medians_us", now}}}};
  };
  run_shard(0, {64, 256}, 0, false, {result(0, {100, 100.1, 99.9}), result(3, {300})});
  run_shard(1, {128, 320}, 3, false, {result(1, {100, 100.1, 99.9}), result(4, {200, 200.2, 199.8})});
  const SweepMerge merged = merge();
  EXPECT_EQ(merged.exit_code, 3);
  const auto json = merged.to_json(plan_);
  ASSERT_EQ(json["regressions"].size(), 1U);
  EXPECT_EQ(json["regressions"][0]["item"], plan_.items[4].item.display());
  EXPECT_EQ(json["verdicts"]["inconclusive"], 1) << "what one process told is no regression, nor unchanged";
}

TEST_F(ShardMergeTest, SaysWhatIsMissingAndIsRepeatedWhenMoreIsThere) {
  run_shard(0, {64}, 0, /*interrupted=*/true);
  SweepMerge merged = merge();
  EXPECT_EQ(merged.exit_code, 1);
  EXPECT_EQ(merged.missing, (std::vector<std::size_t>{1, 3, 4})) << "but not the fresh one";
  EXPECT_FALSE(merged.shards[0].complete());
  EXPECT_TRUE(merged.shards[0].snapshot);
  EXPECT_EQ(merged.shards[0].finished, 1U);
  EXPECT_FALSE(merged.shards[1].snapshot);
  EXPECT_EQ(sessions(), "1");
  EXPECT_EQ(merged.to_json(plan_)["missing"].size(), 3U);

  run_shard(0, {256});
  run_shard(1, {128, 320});
  merged = merge();
  EXPECT_EQ(merged.exit_code, 0);
  EXPECT_TRUE(merged.missing.empty());
  EXPECT_EQ(sessions(), "4");
  merged = merge();
  EXPECT_EQ(merged.exit_code, 0);
  EXPECT_EQ(sessions(), "4");
}

TEST_F(ShardMergeTest, ACompleteShardInWhichSomethingFailedIsAFailure) {
  run_shard(0, {64, 256}, 1);
  run_shard(1, {128, 320});
  EXPECT_EQ(merge().exit_code, 1);
}

TEST_F(ShardMergeTest, ATornSnapshotIsLeftOutAndTold) {
  run_shard(0, {64}, 0, true);
  run_shard(0, {256});
  run_shard(1, {128, 320});
  fs::resize_file(sweep().shard(0) / "snapshot-000002-000001.db", 5000);
  const SweepMerge merged = merge();
  EXPECT_EQ(merged.exit_code, 1);
  EXPECT_EQ(merged.missing, (std::vector<std::size_t>{3}));
  EXPECT_NE(said_.find("torn"), std::string::npos) << said_;
  EXPECT_EQ(merged.shards[0].refused.size(), 1U);
  EXPECT_EQ(sessions(), "3");
}

TEST_F(ShardMergeTest, WithoutAnyShardThereIsAnEmptyBook) {
  const SweepMerge merged = merge();
  EXPECT_EQ(merged.exit_code, 1);
  EXPECT_EQ(merged.missing.size(), 4U);
  EXPECT_EQ(sessions(), "0");
}

TEST_F(ShardMergeTest, SessionsFinishedBeforeThePlanWasFrozenDoNotCount) {
  add_session(file(), 64);
  stage_base(sweep(), file());
  plan_.frozen_at = 4e9;  // in the year 2096
  EXPECT_EQ(merge().missing.size(), 4U);
}

// The items of each shard, sorted.
Shards sorted(Shards shards) {
  for (auto& shard : shards) std::sort(shard.begin(), shard.end());
  std::sort(shards.begin(), shards.end());
  return shards;
}

TEST_F(ShardMergeTest, WorkIsDividedByTimeAndNotAcrossDevicesThatNeedOtherOptions) {
  divide_for_slurm(plan_, {}, 2);
  EXPECT_EQ(sorted(plan_.shards), (Shards{{0, 3, 4}, {1}}));
  const std::vector<SlurmOption> options = {{"", "partition", "p"}, {"cuda:1", "gres", "gpu:h200:2"}, {"merge", "mem", "1G"}};
  divide_for_slurm(plan_, options, 1);
  EXPECT_EQ(sorted(plan_.shards), (Shards{{0, 3, 4}, {1}})) << "one for each kind at least";
  divide_for_slurm(plan_, options, 3);
  EXPECT_EQ(plan_.shards.size(), 3U);
  divide_for_slurm(plan_, options, 100);
  EXPECT_EQ(sorted(plan_.shards), (Shards{{0}, {1}, {3}, {4}})) << "never an empty one";

  std::vector<std::size_t> all = {0, 1, 2, 3};
  const std::vector<SlurmArray> arrays = arrays_for(plan_, options, all);
  ASSERT_EQ(arrays.size(), 2U);
  std::size_t tasks = 0;
  for (const SlurmArray& array : arrays) {
    tasks += array.shards.size();
    const bool named = plan_.items[plan_.shards[array.shards[0]][0]].item.device == "cuda:1";
    EXPECT_EQ(array.options.size(), named ? 2U : 1U);
    EXPECT_EQ(array.options[0], options[0]);
  }
  EXPECT_EQ(tasks, 4U);
  EXPECT_EQ(merge_options_of(options), (std::vector<SlurmOption>{options[0], options[2]}));
}

TEST_F(ShardMergeTest, WorkWithoutAnyExpectationIsDividedEvenly) {
  for (FrozenItem& one : plan_.items) one.estimate.seconds = 0;
  divide_for_slurm(plan_, {}, 2);
  ASSERT_EQ(plan_.shards.size(), 2U);
  EXPECT_EQ(plan_.shards[0].size(), 2U);
  for (FrozenItem& one : plan_.items) one.decision.action = Action::fresh;
  divide_for_slurm(plan_, {}, 2);
  EXPECT_TRUE(plan_.shards.empty());
}

}  // namespace
}  // namespace tunebook::testing
