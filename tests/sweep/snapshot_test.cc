#include "sweep/snapshot.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/file_hash.h"
#include "core/hash.h"
#include "core/json_text.h"
#include "sweep/snapshot_thread.h"

namespace tunebook::testing {
namespace {

namespace fs = std::filesystem;

const ShardIdentity kShard{"0123456789abcdef0123456789abcdef", 3, 8};

class SnapshotTest : public BookTest {
 protected:
  // A session more in the book; returns how many it has.
  int grow() {
    Store store(file());
    ++sessions_;
    add_finished_session(store, some_context(), matmul_problem(64 * sessions_, 64, 64), tile(32), 10, static_cast<std::uint64_t>(sessions_));
    return sessions_;
  }
  fs::path shared() const { return folder_ / "shared" / "shard-3"; }
  ShardFolder open_folder() const { return ShardFolder(shared(), kShard); }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(shared())) result.push_back(entry.path().filename().string());
    std::sort(result.begin(), result.end());
    return result;
  }
  // The sessions in what the next task would start from; -1: from nothing.
  std::int64_t sessions_found(std::vector<std::string>* refused = nullptr) {
    ShardFolder next = open_folder();
    const ShardFolder::Found found = next.newest();
    if (refused != nullptr) *refused = found.refused;
    if (!found.snapshot) return -1;
    const fs::path book = file("restored-" + std::to_string(++restored_) + ".db");
    next.restore(*found.snapshot, book);
    const Store::Health health = Store(book).check();  // a working book again
    EXPECT_TRUE(health.problems.empty());
    EXPECT_EQ(health.sessions, found.snapshot->sessions);
    EXPECT_EQ(health.trials, found.snapshot->trials);
    return health.sessions;
  }

 private:
  int sessions_ = 0, restored_ = 0;
};

TEST_F(SnapshotTest, ATaskGoesOnFromWhatTheOneBeforeLeft) {
  ShardFolder first = open_folder();
  EXPECT_FALSE(first.newest().snapshot);
  EXPECT_EQ(first.claim(), 1);
  grow();
  first.stage(file(), folder_);
  grow();
  const Snapshot last = first.stage(file(), folder_, {{"items", 2}});
  EXPECT_TRUE(last.complete);

  ShardFolder second = open_folder();
  const ShardFolder::Found found = second.newest();
  ASSERT_TRUE(found.snapshot);
  EXPECT_TRUE(found.refused.empty());
  EXPECT_EQ(found.snapshot->content, last.content);
  EXPECT_EQ(found.snapshot->order(), std::pair(1, 2));
  EXPECT_TRUE(found.snapshot->complete);
  EXPECT_EQ(found.snapshot->result, (nlohmann::ordered_json{{"items", 2}}));
  EXPECT_EQ(found.snapshot->finished_sessions, 2);
  EXPECT_EQ(second.claim(), 2);
  EXPECT_EQ(sessions_found(), 2);
}

TEST_F(SnapshotTest, IsClosedAndKeepsWhatAnOpenBookHasCommitted) {
  ShardFolder folder = open_folder();
  folder.claim();
  Store open(file());
  add_finished_session(open, some_context(), matmul_problem(64, 64, 64), tile(32), 10);
  SessionRecord unfinished = some_session(2);
  unfinished.problem = matmul_problem(128, 64, 64);
  const SessionRecord begun = open.open_session(some_context(), unfinished, false);
  open.record_trial(begun.id, some_context(), unfinished.problem, timed_trial(0, tile(32), 5));
  const Snapshot snapshot = folder.stage(file(), folder_);
  EXPECT_EQ(snapshot.sessions, 2);
  EXPECT_EQ(snapshot.finished_sessions, 1);
  EXPECT_EQ(query_text(snapshot.file, "PRAGMA journal_mode"), "delete");
  EXPECT_EQ(query_text(snapshot.file, "SELECT count(*) FROM trial"), query_text(file(), "SELECT count(*) FROM trial"));
  // The session that was under way is taken up, with its trial.
  const fs::path book = file("next.db");
  folder.restore(snapshot, book);
  Store next(book);
  EXPECT_EQ(next.open_session(some_context(), unfinished, false).id, begun.id);
  EXPECT_EQ(next.session_trials(begun.id).size(), 1U);
}

TEST_F(SnapshotTest, TheNewestTwoAreKept) {
  ShardFolder folder = open_folder();
  folder.claim();
  grow();
  for (int i = 0; i < 4; ++i) folder.stage(file(), folder_);
  EXPECT_EQ(names(), (std::vector<std::string>{"attempt-000001", "snapshot-000001-000003.db", "snapshot-000001-000003.json",
                                               "snapshot-000001-000004.db", "snapshot-000001-000004.json"}));
}

// Each of these is done to the newest of two snapshots; the one before it must be what is gone on from.
struct Damage {
  const char* name;
  void (*inflict)(const fs::path& book, const fs::path& manifest);
  const char* message;
};

void replace_in(const fs::path& file, const std::string& from, const std::string& to) {
  std::string text = read_text_file(file);
  text.replace(text.find(from), from.size(), to);
  std::ofstream(file) << text;
}

const Damage kDamages[] = {
    {"torn", [](const fs::path& book, const fs::path&) { fs::resize_file(book, fs::file_size(book) / 2); }, "torn"},
    {"one_bit",
     [](const fs::path& book, const fs::path&) {
       std::fstream file(book, std::ios::in | std::ios::out | std::ios::binary);
       file.seekg(5000);
       const char byte = static_cast<char>(file.get() ^ 1);
       file.seekp(5000);
       file.put(byte);
     },
     "damaged"},
    {"gone", [](const fs::path& book, const fs::path&) { fs::remove(book); }, "No such file"},
    {"another_sweep", [](const fs::path&, const fs::path& manifest) { replace_in(manifest, "0123456789abcdef", "fedcba9876543210"); },
     "belongs to another sweep (fedcba9876543210"},
    {"another_shard", [](const fs::path&, const fs::path& manifest) { replace_in(manifest, "\"shard\": 3", "\"shard\": 4"); },
     "belongs to shard 4 of 8, this one is 3 of 8"},
    {"another_number", [](const fs::path&, const fs::path& manifest) { replace_in(manifest, "\"generation\": 2", "\"generation\": 9"); },
     "snapshot-000001-000009.json when it was written"},
    {"another_format", [](const fs::path&, const fs::path& manifest) { replace_in(manifest, "\"tunebook_snapshot\": 1", "\"tunebook_snapshot\": 2"); },
     "another version"},
    {"manifest_torn", [](const fs::path&, const fs::path& manifest) { fs::resize_file(manifest, fs::file_size(manifest) / 2); }, "expected"},
    {"manifest_empty", [](const fs::path&, const fs::path& manifest) { fs::resize_file(manifest, 0); }, "snapshot-000001-000002"},
    {"manifest_member", [](const fs::path&, const fs::path& manifest) { replace_in(manifest, "\"hash\"", "\"hush\""); }, "'hash' not found"},
    {"manifest_kind", [](const fs::path&, const fs::path& manifest) { replace_in(manifest, "\"attempt\": 1", "\"attempt\": \"1\""); }, "must be number"},
};

class DamagedSnapshotTest : public SnapshotTest, public ::testing::WithParamInterface<Damage> {};

TEST_P(DamagedSnapshotTest, IsRefusedWithAMessageAndTheOneBeforeIsUsed) {
  {
    ShardFolder folder = open_folder();
    folder.claim();
    grow();
    folder.stage(file(), folder_);
    grow();
    folder.stage(file(), folder_);
  }
  EXPECT_EQ(sessions_found(), 2);
  GetParam().inflict(shared() / "snapshot-000001-000002.db", shared() / "snapshot-000001-000002.json");
  std::vector<std::string> refused;
  EXPECT_EQ(sessions_found(&refused), 1);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_NE(refused[0].find("snapshot-000001-000002"), std::string::npos) << refused[0];
  EXPECT_NE(refused[0].find(GetParam().message), std::string::npos) << refused[0];

  // The next task's snapshots are newer, and what was refused stays for whoever wants to know why.
  ShardFolder next = open_folder();
  next.newest();
  next.claim();
  for (int i = 0; i < 3; ++i) next.stage(file(), folder_);
  EXPECT_EQ(sessions_found(&refused), 2);
  EXPECT_TRUE(refused.empty());
  EXPECT_TRUE(fs::exists(shared() / "snapshot-000001-000002.json"));
  EXPECT_FALSE(fs::exists(shared() / "snapshot-000001-000001.json"));
}

INSTANTIATE_TEST_SUITE_P(Each, DamagedSnapshotTest, ::testing::ValuesIn(kDamages),
                         [](const auto& damage) { return std::string(damage.param.name); });

TEST_F(SnapshotTest, ATaskThatWasTakenForDeadStagesNothingMore) {
  ShardFolder first = open_folder();
  first.claim();
  grow();
  first.stage(file(), folder_);
  ShardFolder second = open_folder();
  second.newest();
  EXPECT_FALSE(first.superseded());
  second.claim();
  EXPECT_TRUE(first.superseded());
  EXPECT_FALSE(second.superseded());
  EXPECT_THROW(first.stage(file(), folder_), SupersededError);
  grow();
  second.stage(file(), folder_);
  EXPECT_THROW(first.stage(file(), folder_), SupersededError);
  EXPECT_EQ(sessions_found(), 2);
  EXPECT_EQ(names().size(), 6U) << "no temporary is left";
}

TEST_F(SnapshotTest, TasksThatClaimAtTheSameMomentGetDifferentNumbers) {
  constexpr int kTasks = 8;
  std::vector<int> numbers(kTasks);
  std::vector<std::thread> tasks;
  for (int i = 0; i < kTasks; ++i) tasks.emplace_back([&, i] { numbers[static_cast<std::size_t>(i)] = open_folder().claim(); });
  for (std::thread& task : tasks) task.join();
  std::sort(numbers.begin(), numbers.end());
  for (int i = 0; i < kTasks; ++i) EXPECT_EQ(numbers[static_cast<std::size_t>(i)], i + 1);
}

TEST_F(SnapshotTest, AFolderThatCannotBeWrittenLosesNothing) {
  ShardFolder folder = open_folder();
  folder.claim();
  grow();
  folder.stage(file(), folder_);
  grow();
  EXPECT_THROW(folder.stage(file("missing.db"), folder_), std::exception);
  EXPECT_THROW(folder.stage(file(), folder_ / "no_such_folder"), std::exception);
  EXPECT_EQ(sessions_found(), 1);
  std::ofstream(file("a_file")) << "x";
  EXPECT_THROW(ShardFolder(file("a_file") / "shard", kShard), EnvironmentError);
  folder.stage(file(), folder_);
  EXPECT_EQ(sessions_found(), 2);
}

// Killed while it stages: what is found is a whole snapshot with at least what was staged last.
TEST_F(SnapshotTest, AKillAtAnyMomentLeavesAWholeOne) {
  std::mt19937 random(7);
  grow();
  {
    ShardFolder folder = open_folder();
    folder.claim();
    folder.stage(file(), folder_);
  }
  std::int64_t known = 1;
  for (int kill_number = 0; kill_number < 12; ++kill_number) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      // Staged as often as it can be; each number of sessions that is safe is told.
      ShardFolder folder = open_folder();
      folder.newest();
      folder.claim();
      for (;;) {
        const std::int64_t sessions = folder.stage(file(), folder_).sessions;
        if (write(pipe_ends[1], &sessions, sizeof sessions) != sizeof sessions) _exit(1);
      }
    }
    close(pipe_ends[1]);
    const int grown = grow();
    std::int64_t told = 0;
    ASSERT_EQ(read(pipe_ends[0], &told, sizeof told), static_cast<ssize_t>(sizeof told));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (std::int64_t more = 0; read(pipe_ends[0], &more, sizeof more) == static_cast<ssize_t>(sizeof more);) told = more;
    close(pipe_ends[0]);
    std::vector<std::string> refused;
    const std::int64_t found = sessions_found(&refused);
    EXPECT_TRUE(refused.empty()) << refused.front();
    EXPECT_GE(found, told);
    EXPECT_GE(found, known);
    EXPECT_LE(found, grown);
    known = found;
  }
  ShardFolder next = open_folder();
  next.newest();
  next.claim();
  for (int i = 0; i < 2; ++i) next.stage(file(), folder_);
  int snapshots = 0;
  for (const std::string& name : names()) {
    EXPECT_FALSE(name.starts_with(".staging")) << "left: " << name;
    snapshots += name.ends_with(".json") ? 1 : 0;
  }
  EXPECT_EQ(snapshots, 2);
}

TEST_F(SnapshotTest, TheThreadStagesRegularlyAndAtOnceWhenTold) {
  grow();
  ShardFolder folder = open_folder();
  folder.claim();
  std::atomic<bool> stop = false;
  const auto wait_for = [&](std::int64_t sessions) {
    for (int i = 0; i < 400 && sessions_found() < sessions; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(25));
    return sessions_found();
  };
  const auto ignore = [](const std::string& message) { ADD_FAILURE() << message; };
  const auto not_superseded = [] { ADD_FAILURE() << "superseded"; };
  {
    SnapshotThread regularly(folder, file(), folder_, 0.01, [] { return false; }, ignore, not_superseded);
    EXPECT_EQ(wait_for(1), 1);
    grow();
    EXPECT_EQ(wait_for(2), 2);
  }
  constexpr double kNever = 1e6;
  SnapshotThread when_told(folder, file(), folder_, kNever, [&] { return stop.load(); }, ignore, not_superseded);
  grow();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(sessions_found(), 2);
  stop = true;
  EXPECT_EQ(wait_for(3), 3);
}

TEST_F(SnapshotTest, TheThreadGoesOnAfterAFailureAndEndsWhenSuperseded) {
  ShardFolder folder = open_folder();
  folder.claim();
  std::atomic<int> messages = 0;
  std::atomic<bool> superseded = false;
  SnapshotThread thread(folder, file(), folder_, 0.01, [] { return false; }, [&](const std::string&) { ++messages; }, [&] { superseded = true; });
  const auto wait_for = [](const auto& condition) {
    for (int i = 0; i < 400 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(25));
    return condition();
  };
  EXPECT_TRUE(wait_for([&] { return messages >= 2; })) << "there is no book yet";
  grow();
  EXPECT_TRUE(wait_for([&] { return sessions_found() == 1; }));
  ShardFolder later = open_folder();
  later.claim();
  EXPECT_TRUE(wait_for([&] { return superseded.load(); }));
}

TEST_F(SnapshotTest, HashOfAFileIsTheHashOfItsContent) {
  std::string text(3 * (1 << 20) + 17, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 2654435761U >> 13);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 20, text.size()}) {
    const fs::path path = file("bytes-" + std::to_string(size));
    write_file_synced(path, text.substr(0, size));
    const FileHash expected{content_hash(text.substr(0, size)), static_cast<std::int64_t>(size)};
    EXPECT_EQ(hash_file(path), expected);
    EXPECT_EQ(copy_file_synced(path, path.string() + "-copy"), expected);
    EXPECT_EQ(hash_file(path.string() + "-copy"), expected);
    EXPECT_THROW(copy_file_synced(path, path.string() + "-copy"), EnvironmentError) << "never over another file";
  }
}

}  // namespace
}  // namespace tunebook::testing
