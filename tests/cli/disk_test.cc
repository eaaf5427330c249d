// Books and caches on disks that are full or may not be written: a clear message, and nothing that was recorded is lost.
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli_support.h"
#include "db/store.h"
#include "support/synthetic_recording.h"

namespace tunebook::test {
namespace {

using Words = std::vector<std::string>;

class Disk : public CliTest {
 protected:
  ~Disk() override {
    if (mounted_) ::umount2(disk().c_str(), MNT_DETACH);
  }
  std::filesystem::path disk() const { return folder() / "disk"; }
  // A disk of its own, of so many KiB. "" or why there is none.
  std::string mount_disk(int kib) {
    std::filesystem::create_directory(disk());
    if (::mount("tunebook", disk().c_str(), "tmpfs", 0, size(kib).c_str()) != 0) return std::string("no disk can be mounted: ") + std::strerror(errno);
    mounted_ = true;
    return "";
  }
  void resize(int kib) { ASSERT_EQ(::mount("tunebook", disk().c_str(), "tmpfs", MS_REMOUNT, size(kib).c_str()), 0); }
  void set_read_only() { ASSERT_EQ(::mount("tunebook", disk().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0); }
  void set_writable() { ASSERT_EQ(::mount("tunebook", disk().c_str(), "tmpfs", MS_REMOUNT, nullptr), 0); }
  // Leaves no byte on it.
  void fill_disk() const {
    std::ofstream file(disk() / "filler", std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  Words replay(const std::string& book, const std::string& budget = "all") {
    if (recording_.empty()) recording_ = write_synthetic_recording(folder(), "recording", 7, 3000).string();
    return {"tune", "synthetic", "--device", "replay:" + recording_, "--strategy", "exhaustive", "--budget", budget, "--book", book, "--json"};
  }
  static Words cpu(const Words& more = {}) {
    Words words = {"tune", "vector_add", "--templates", user_kernels(), "--shape", "10000", "--device", "cpu", "--budget", "3", "--finalists", "0", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void expect_says(const ProgramResult& result, const Words& parts) {
    for (const std::string& part : parts) EXPECT_NE(result.err.find(part), std::string::npos) << "no \"" << part << "\" in: " << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }

 private:
  static std::string size(int kib) { return "size=" + std::to_string(kib) + "k"; }
  bool mounted_ = false;
  std::string recording_;
};

TEST_F(Disk, AFullDiskKeepsWhatWasRecordedAndTheSessionGoesOnLater) {
  if (const std::string why = mount_disk(900); !why.empty()) GTEST_SKIP() << why;
  const std::string own = (disk() / "book.db").string();
  const ProgramResult full = run(replay(own));
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_EQ(full.out, "");
  expect_says(full, {"the disk is full", "everything recorded before is kept", "Free some space and run the same command again", own});
  resize(64 << 10);
  const std::int64_t kept = Store(own).check().trials;
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 3000);
  EXPECT_TRUE(Store(own).check().problems.empty());
  const auto resumed = run_json(replay(own));
  EXPECT_TRUE(resumed["winner"].is_object());
  EXPECT_EQ(Store(own).check().trials, 3000);
  EXPECT_EQ(Store(own).check().sessions, 1);
  EXPECT_TRUE(Store(own).check().problems.empty());
}

// The same by a limit on the size of files, where nothing can be mounted.
TEST_F(Disk, ALimitOnFileSizesIsLikeAFullDisk) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto inherited = std::signal(SIGXFSZ, SIG_IGN);
  const Words words = replay(book().string());
  const rlimit small{400 << 10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const ProgramResult full = run(words);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, inherited);
  EXPECT_EQ(full.exit_code, 1) << full.err;
  EXPECT_NE(full.err.find("everything recorded before is kept"), std::string::npos) << full.err;
  const std::int64_t kept = Store(book()).check().trials;
  EXPECT_LT(kept, 3000);
  EXPECT_TRUE(run_json(words)["winner"].is_object());
  EXPECT_EQ(Store(book()).check().trials, 3000);
}

TEST_F(Disk, ABookThatMayOnlyBeReadIsRefusedAtOnceAndStaysAsItIs) {
  if (const std::string why = mount_disk(4 << 10); !why.empty()) GTEST_SKIP() << why;
  const std::string own = (disk() / "book.db").string();
  const auto tuned = run_json(replay(own, "50"));
  set_read_only();
  for (const std::string& path : {own, (disk() / "other.db").string(), (disk() / "folder" / "book.db").string()}) {
    SCOPED_TRACE(path);
    const ProgramResult result = run(replay(path, "60"));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    expect_says(result, {path, "give another path with --book"});
  }
  set_writable();
  EXPECT_EQ(run_json(replay(own, "50"))["session"], tuned["session"]);
  EXPECT_EQ(Store(own).check().sessions, 1);
}

TEST_F(Disk, ACacheThatCannotBeWrittenIsDoneWithout) {
  if (const std::string why = mount_disk(256); !why.empty()) GTEST_SKIP() << why;
  const std::filesystem::path cache = disk() / "cache";
  std::filesystem::create_directory(cache);
  std::filesystem::permissions(cache, std::filesystem::perms::owner_all);
  set_environment("TUNEBOOK_CACHE", cache.string());
  fill_disk();
  const auto check = [&](const std::string& budget) {
    const ProgramResult result = run(cpu({"--seed", budget}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(parse_one_line(result.out)["winner"].is_object());
    EXPECT_NE(result.err.find("cannot be written"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("TUNEBOOK_CACHE"), std::string::npos) << result.err;
  };
  check("1");
  set_read_only();
  check("2");
}

// No place for what is compiled at all: no configuration is to blame, so none is recorded as failed.
TEST_F(Disk, WithoutRoomForTemporaryFilesNothingIsRecorded) {
  if (const std::string why = mount_disk(128); !why.empty()) GTEST_SKIP() << why;
  set_environment("TMPDIR", disk().string());
  set_environment("TUNEBOOK_CACHE", (disk() / "cache").string());
  fill_disk();
  const ProgramResult result = run(cpu());
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_NE(result.err.find("make room in the folder for temporary files"), std::string::npos) << result.err;
  EXPECT_EQ(Store(book()).check().trials, 0);
  resize(64 << 10);
  EXPECT_TRUE(run_json(cpu())["winner"].is_object());
}

}  // namespace
}  // namespace tunebook::test
