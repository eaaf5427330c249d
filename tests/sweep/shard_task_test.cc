#include "sweep/shard_task.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/error.h"
#include "sweep/snapshot.h"

namespace tunebook::testing {
namespace {

namespace fs = std::filesystem;

class ShardTaskTest : public BookTest {
 protected:
  void SetUp() override {
    BookTest::SetUp();
    fs::create_directories(folder_ / "shared");
    fs::create_directories(folder_ / "local");
    setenv("TMPDIR", (folder_ / "local").c_str(), 1);
    unsetenv("TUNEBOOK_CACHE");
    std::ofstream(frozen()) << "{\"a frozen plan\": 1}\n";
  }
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(folder_ / "local")) << "the task's own folder is left";
    unsetenv("TMPDIR");
    unsetenv("TUNEBOOK_CACHE");
    BookTest::TearDown();
  }
  fs::path frozen() const { return folder_ / "shared" / "plan.json"; }
  ShardTask task() {
    ShardTask task{SweepFolder::of(frozen()), 1, 2, 1e6, [] { return false; }, [this](const std::string& message) { said_ += message + "\n"; }};
    return task;
  }
  static void add_session(const fs::path& book, std::int64_t m) {
    Store store(book);
    add_finished_session(store, some_context(), matmul_problem(m, 64, 64), tile(32), 10, static_cast<std::uint64_t>(m));
  }
  static std::int64_t sessions(const fs::path& book) { return fs::exists(book) ? Store(book).check().sessions : 0; }
  static ShardEnd ended(int code) { return {code, false, {{"note", "x"}}}; }
  Snapshot newest() {
    ShardFolder shard(SweepFolder::of(frozen()).shard(1), {SweepFolder::of(frozen()).sweep, 1, 2});
    const auto found = shard.newest();
    EXPECT_TRUE(found.snapshot);
    return found.snapshot.value_or(Snapshot());
  }

  std::string said_;
};

TEST_F(ShardTaskTest, BeginsWithTheBaseAndLeavesItsEnd) {
  add_session(file(), 64);
  stage_base(SweepFolder::of(frozen()), file());
  add_session(file(), 128);  // too late
  fs::path local;
  EXPECT_EQ(run_shard_task(task(),
                           [&](const fs::path& book, const auto&) {
                             local = book;
                             EXPECT_TRUE(book.string().starts_with((folder_ / "local").string()));
                             EXPECT_TRUE(std::string(std::getenv("TUNEBOOK_CACHE")).starts_with((folder_ / "local").string()));
                             EXPECT_EQ(sessions(book), 1);
                             add_session(book, 256);
                             return ended(0);
                           }),
            0);
  EXPECT_FALSE(fs::exists(local));
  EXPECT_TRUE(newest().complete);
  EXPECT_EQ(newest().finished_sessions, 2);
  EXPECT_EQ(newest().result, (nlohmann::ordered_json{{"exit_code", 0}, {"summary", {{"note", "x"}}}}));
}

TEST_F(ShardTaskTest, OneThatWasStoppedIsTriedAgainFromWhereItWas) {
  EXPECT_EQ(run_shard_task(task(),
                           [&](const fs::path& book, const auto&) {
                             EXPECT_EQ(sessions(book), 0);
                             add_session(book, 64);
                             return ShardEnd{1, true, {}};
                           }),
            kTryAgain);
  EXPECT_FALSE(newest().complete);
  EXPECT_EQ(run_shard_task(task(),
                           [&](const fs::path& book, const auto&) {
                             EXPECT_EQ(sessions(book), 1);
                             add_session(book, 128);
                             return ended(3);
                           }),
            3);
  EXPECT_NE(said_.find("goes on from the snapshot of"), std::string::npos);
  EXPECT_EQ(newest().attempt, 2);
  EXPECT_EQ(newest().sessions, 2);
}

TEST_F(ShardTaskTest, OneThatIsCompleteIsNotRunAgainUnlessSomeFailed) {
  int runs = 0;
  const auto run = [&](int code) {
    return run_shard_task(task(), [&](const fs::path& book, const auto&) {
      ++runs;
      add_session(book, 64 * runs);
      return ended(code);
    });
  };
  EXPECT_EQ(run(1), 1);
  EXPECT_EQ(run(3), 3) << "what failed is tried again";
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(run(0), 3) << "the answer is the one that it had";
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(newest().sessions, 2);
}

TEST_F(ShardTaskTest, OneThatDiesGoesOnFromItsLastRegularSnapshot) {
  ShardTask regular = task();
  regular.snapshot_every_s = 0.02;
  EXPECT_THROW(run_shard_task(regular,
                              [&](const fs::path& book, const auto&) -> ShardEnd {
                                add_session(book, 64);
                                const auto there = [&] { return fs::exists(SweepFolder::of(frozen()).shard(1) / "snapshot-000001-000002.json"); };
                                for (int i = 0; i < 400 && !there(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(25));
                                EXPECT_TRUE(there());
                                throw EnvironmentError("the end");
                              }),
               EnvironmentError);
  run_shard_task(task(), [&](const fs::path& book, const auto&) {
    EXPECT_EQ(sessions(book), 1);
    return ended(0);
  });
}

TEST_F(ShardTaskTest, OneThatIsTakenForDeadIsToldToStopAndLeavesNothing) {
  ShardTask regular = task();
  regular.snapshot_every_s = 0.02;
  EXPECT_THROW(run_shard_task(regular,
                              [&](const fs::path& book, const auto& stop) {
                                add_session(book, 64);
                                run_shard_task(task(), [&](const fs::path& other, const auto&) {
                                  add_session(other, 128);
                                  add_session(other, 256);
                                  return ended(0);
                                });
                                for (int i = 0; i < 400 && !stop(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(25));
                                EXPECT_TRUE(stop());
                                return ShardEnd{0, true, {}};
                              }),
               SupersededError);
  EXPECT_EQ(newest().attempt, 2);
  EXPECT_TRUE(newest().complete);
}

TEST_F(ShardTaskTest, AnotherPlanInTheFolderIsNotGoneOnWith) {
  run_shard_task(task(), [&](const fs::path& book, const auto&) {
    add_session(book, 64);
    return ended(0);
  });
  std::ofstream(frozen()) << "{\"another frozen plan\": 1}\n";
  EXPECT_EQ(run_shard_task(task(),
                           [&](const fs::path& book, const auto&) {
                             EXPECT_EQ(sessions(book), 0);
                             return ShardEnd{0, true, {}};
                           }),
            kTryAgain);
  EXPECT_NE(said_.find("belongs to another sweep"), std::string::npos) << said_;
  EXPECT_NE(said_.find("begins anew"), std::string::npos) << said_;
}

TEST_F(ShardTaskTest, ABaseThatIsDamagedIsNoReasonToBeginWithNothing) {
  add_session(file(), 64);
  const SweepFolder folder = SweepFolder::of(frozen());
  stage_base(folder, file());
  for (const auto& entry : fs::directory_iterator(folder.base())) {
    if (entry.path().extension() == ".db") fs::resize_file(entry.path(), 1000);
  }
  const std::string error = error_of([&] { run_shard_task(task(), [&](const fs::path&, const auto&) { return ended(0); }); });
  EXPECT_NE(error.find("gone or damaged"), std::string::npos) << error;
  EXPECT_NE(error.find("torn"), std::string::npos) << error;
}

TEST_F(ShardTaskTest, NoLocalDiskIsAClearError) {
  setenv("TMPDIR", (folder_ / "nowhere").c_str(), 1);
  const std::string error = error_of([&] { run_shard_task(task(), [&](const fs::path&, const auto&) { return ended(0); }); });
  EXPECT_NE(error.find("set TMPDIR"), std::string::npos) << error;
  EXPECT_THROW(SweepFolder::of(folder_ / "missing.json"), InputError);
}

}  // namespace
}  // namespace tunebook::testing
