// merge as its users run it.

#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cli_support.h"
#include "db/store.h"
#include "support/synthetic_book.h"
#include "support/synthetic_recording.h"

namespace tunebook::test {
namespace {

using Words = std::vector<std::string>;

class MergeVerb : public CliTest {
 protected:
  ~MergeVerb() override {
    if (mounted_) ::umount2(disk().c_str(), MNT_DETACH);
  }
  std::filesystem::path disk() const { return folder() / "disk"; }
  std::string mount_disk(int kib) {
    std::filesystem::create_directory(disk());
    if (::mount("tunebook", disk().c_str(), "tmpfs", 0, size(kib).c_str()) != 0) return std::string("no disk can be mounted: ") + std::strerror(errno);
    mounted_ = true;
    return "";
  }
  void resize(int kib) { ASSERT_EQ(::mount("tunebook", disk().c_str(), "tmpfs", MS_REMOUNT, size(kib).c_str()), 0); }
  // A book with one session of a recording, finished by `tune`.
  std::string tuned_book(const std::string& name, const std::string& seed) {
    if (recording_.empty()) recording_ = write_synthetic_recording(folder(), "recording", 7, 500).string();
    const std::string path = (folder() / name).string();
    run_json({"tune", "synthetic", "--device", "replay:" + recording_, "--budget", "40", "--seed", seed, "--book", path, "--json"});
    return path;
  }

 private:
  static std::string size(int kib) { return "size=" + std::to_string(kib) + "k"; }
  bool mounted_ = false;
  std::string recording_;
};

TEST_F(MergeVerb, SaysWhatEachBookAdded) {
  const std::string one = tuned_book("one.db", "1"), two = tuned_book("two.db", "2"), all = (folder() / "new" / "all.db").string();
  const auto first = run_json({"merge", one, two, one, "--book", all, "--json"});
  EXPECT_EQ(keys_of(first), (Words{"book", "stopped", "added", "books", "wall_s"}));
  EXPECT_EQ(first["book"], all);
  EXPECT_EQ(first["stopped"], false);
  EXPECT_EQ(first["added"]["kernels"], 1);
  EXPECT_EQ(first["added"]["devices"], 1);
  EXPECT_EQ(first["added"]["sessions"], 2);
  EXPECT_EQ(first["added"]["trials"], 80);
  EXPECT_EQ(first["added"]["winners"], 2);
  ASSERT_EQ(first["books"].size(), 3U);
  EXPECT_EQ(first["books"][1]["sessions"], 1);
  EXPECT_EQ(first["books"][1]["unfinished"], 0);
  EXPECT_EQ(first["books"][1]["added"]["trials"], 40);
  EXPECT_EQ(first["books"][2]["added"]["trials"], 0);

  // What `tune` answers of both is in the merged book.
  const Words tune = {"tune", "synthetic", "--device", "replay:" + (folder() / "recording").string(), "--budget", "40", "--seed", "2", "--json"};
  const auto with_book = [&](const std::string& book) {
    Words words = tune;
    words.insert(words.end(), {"--book", book});
    return run_json(words);
  };
  EXPECT_EQ(with_book(all)["session"], with_book(two)["session"]);

  const ProgramResult again = run({"merge", one, all, "--book", all});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(again.out, all + "\n");
  EXPECT_NE(again.err.find(one + ": 1 sessions (0 unfinished), 40 trials; new: 0 sessions, 0 extended, 0 trials"), std::string::npos) << again.err;
  EXPECT_NE(again.err.find(all + ": the target itself"), std::string::npos) << again.err;
}

TEST_F(MergeVerb, WhatCannotBeMergedIsBadInput) {
  const std::string good = tuned_book("one.db", "1");
  run({"publish", (folder() / "published.db").string(), "--book", good});
  expect_bad_input({"merge", good, (folder() / "none.db").string()}, {"none.db", "No such file"});
  expect_bad_input({"merge", good, (folder() / "published.db").string()}, {"published.db", "published book", "working book"});
  expect_bad_input({"merge", good, write("text.db", "hello")}, {"text.db", "no SQLite database"});
  expect_bad_input({"merge"}, {"books is required"});
}

TEST_F(MergeVerb, AFullDiskLeavesAValidBookThatTheSameCommandCompletes) {
  if (const std::string why = mount_disk(2 << 10); !why.empty()) GTEST_SKIP() << why;
  const std::string source = (folder() / "source.db").string(), own = (disk() / "all.db").string();
  tunebook::testing::SyntheticBook{2, 1, 10, 60'000, false}.write(source);
  const Words words = {"merge", source, "--book", own, "--json"};
  const ProgramResult full = run(words);
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_EQ(full.out, "");
  for (const char* const part : {"the disk is full", "everything recorded before is kept", "run the same command again"}) {
    EXPECT_NE(full.err.find(part), std::string::npos) << full.err;
  }
  resize(128 << 10);
  EXPECT_TRUE(Store(own).check().problems.empty());
  const std::int64_t kept = Store(own).check().trials;
  EXPECT_LT(kept, 60'000);
  EXPECT_EQ(run_json(words)["added"]["trials"], 60'000 - kept);
  EXPECT_TRUE(Store(own).check().problems.empty());
  EXPECT_EQ(Store(own).check().trials, 60'000);
}

TEST_F(MergeVerb, InterruptedItSaysHowToGoOn) {
  const std::string source = (folder() / "source.db").string(), all = (folder() / "all.db").string();
  tunebook::testing::SyntheticBook{2, 1, 10, 60'000, false}.write(source);
  const Words words = {"merge", source, "--book", all};
  RunningProgram program = start(words);
  while (!std::filesystem::exists(all)) std::this_thread::yield();
  program.send(SIGINT);
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 1);
  EXPECT_EQ(stopped.out, "");
  EXPECT_NE(stopped.err.find("complete it with: "), std::string::npos) << stopped.err;
  EXPECT_LT(Store(all).check().trials, 60'000);
  EXPECT_EQ(run(words).exit_code, 0);
  EXPECT_EQ(Store(all).check().trials, 60'000);
}

}  // namespace
}  // namespace tunebook::test
