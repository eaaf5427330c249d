#include "db/publish.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/error.h"
#include "db/lookup_limits.h"
#include "db/store.h"
#include "tunebook/lookup.h"

namespace tunebook::testing {
namespace {

class PublishTest : public BookTest {
 protected:
  void SetUp() override {
    BookTest::SetUp();
    Store store(file());
    session_ = add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32, true), 10);
    add_finished_session(store, some_context(), matmul_problem(128, 64, 64), tile(64), 20, 2);
    SessionRecord unfinished = some_session(3);
    unfinished.problem = matmul_problem(32, 32, 32);
    const SessionRecord opened = store.open_session(some_context(), unfinished, false);
    store.record_winner(some_context(), opened.problem, some_winner(opened.id, tile(32), 10));
  }
  std::string refusal(const std::filesystem::path& output) const {
    try {
      publish_book(file(), output);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) {
      ++count;
    }
    return count;
  }

  std::string session_;
};

Query query() {
  Query query;
  query.kernel = "matmul";
  query.problem = {{"m", 64}, {"n", 64}, {"k", 64}};
  query.device = to_device_key(some_gpu());
  query.kernel_hash = "hash-1";
  return query;
}

TEST_F(PublishTest, AnswersAreThoseOfTheWorkingBook) {
  const Publication published = publish_book(file(), file("out.db"));
  EXPECT_EQ(published.kernels, 1);
  EXPECT_EQ(published.devices, 1);
  EXPECT_EQ(published.winners, 2);
  EXPECT_EQ(static_cast<std::uintmax_t>(published.bytes), std::filesystem::file_size(file("out.db")));
  const auto from_working = Lookup(file().string()).best(query());
  const auto from_published = Lookup(file("out.db").string()).best(query());
  ASSERT_TRUE(from_working);
  ASSERT_TRUE(from_published);
  EXPECT_EQ(*from_published, *from_working);
  EXPECT_EQ(from_published->session, session_);
}

TEST_F(PublishTest, ItHoldsNoTrialsIsSealedAndReadableByAll) {
  publish_book(file(), file("out.db"));
  EXPECT_EQ(query_text(file("out.db"), "SELECT count(*) FROM trial"), "0");
  EXPECT_EQ(query_text(file("out.db"), "SELECT count(*) FROM session"), "2") << "no unfinished one";
  EXPECT_EQ(query_text(file("out.db"), "SELECT count(*) FROM finalist"), "2");
  EXPECT_EQ(query_text(file("out.db"), "SELECT length(process_medians_us) FROM finalist"), "0");
  EXPECT_EQ(query_text(file("out.db"), "PRAGMA journal_mode"), "delete");
  EXPECT_EQ(query_text(file("out.db"), "SELECT count(*) FROM pragma_foreign_key_check"), "0");
  EXPECT_TRUE(Store::check_file(file("out.db")).problems.empty());
  struct stat state {};
  ASSERT_EQ(stat(file("out.db").c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777U, 0444U);
  EXPECT_EQ(files(), 2U) << "nothing is left beside it";
  EXPECT_NE(error_of([&] { Store store(file("out.db")); }).find("published book"), std::string::npos);
}

TEST_F(PublishTest, AnOlderPublishedBookIsReplacedAWorkingBookIsNot) {
  publish_book(file(), file("out.db"));
  {
    Store store(file());
    add_finished_session(store, some_context(), matmul_problem(256, 64, 64), tile(64), 20, 4);
    EXPECT_EQ(publish_book(file(), file("out.db")).winners, 3) << "also while it is open for writing";
    Store other(file("other.db"));
  }
  EXPECT_NE(refusal(file("other.db")).find("working book"), std::string::npos);
  EXPECT_NE(refusal(file()).find("itself"), std::string::npos);
  EXPECT_NE(refusal(file("none") / "out.db").find("no folder"), std::string::npos);
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  std::ofstream(file("text")) << "hello";
  EXPECT_NE(refusal(file("text")), "");
  std::ofstream(file("left.db-wal")) << "hello";
  EXPECT_NE(refusal(file("left.db")).find("-wal"), std::string::npos);
  EXPECT_THROW(publish_book(file("missing.db"), file("out.db")), InputError);
  EXPECT_EQ(publish_book(file("out.db"), file("again.db")).winners, 3) << "a published book can be published again";
}

TEST_F(PublishTest, NamesWithoutAFolderAreThoseOfTheCurrentOne) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  EXPECT_EQ(publish_book(file().filename(), "bare.db").winners, 2);
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::exists(file("bare.db")));
}

TEST_F(PublishTest, ABookOfVersion1IsBroughtUpToDateAndPublished) {
  std::filesystem::copy_file(std::filesystem::path(TUNEBOOK_SOURCE_DIR) / "tests/data/books/version_1.db", file("old.db"));
  EXPECT_GE(publish_book(file("old.db"), file("out.db")).winners, 1);
}

TEST_F(PublishTest, AnotherUserReadsItInAReadOnlyFolder) {
  std::filesystem::create_directory(file("shared"));
  publish_book(file(), file("shared") / "out.db");
  using std::filesystem::perms;
  std::filesystem::permissions(folder_, perms::owner_all | perms::group_exec | perms::others_exec);
  std::filesystem::permissions(file("shared"), perms::owner_read | perms::owner_exec | perms::others_read | perms::others_exec);
  const pid_t child = fork();
  if (child == 0) {
    constexpr unsigned kNobody = 65534;
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(2);
    try {
      const auto answer = Lookup((file("shared") / "out.db").string()).best(query());
      _exit(answer && answer->tier == Tier::exact ? 0 : 1);
    } catch (const std::exception&) {
      _exit(3);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::filesystem::permissions(file("shared"), perms::owner_all);
}

TEST_F(PublishTest, WhatPresetsNeedIsPublished) {
  {
    Store store(file());
    TrialRecord preset = timed_trial(0, tile(16), 30);
    preset.origin = "preset:default";
    preset.resources.shared_static_bytes = 163840;
    store.record_trial(session_, some_context(), matmul_problem(64, 64, 64), preset);
  }
  publish_book(file(), file("out.db"));
  for (const char* const book : {"book.db", "out.db"}) {
    const Lookup lookup(file(book).string());
    Query asked = query();
    asked.problem = {{"m", 1}, {"n", 1}, {"k", 1}};
    asked.device = DeviceKey{.name = "NVIDIA H100 PCIe", .compute_capability = 100};
    ASSERT_TRUE(lookup.best(asked)) << book;
    EXPECT_EQ(lookup.best(asked)->tier, Tier::preset_default);
    EXPECT_EQ(lookup.best(asked)->shared_bytes, 163840);
    asked.device = DeviceKey{.name = "NVIDIA RTX A6000", .compute_capability = 86};
    EXPECT_FALSE(lookup.best(asked)) << book << ": 160 KB of shared memory are more than an sm_86 has";
    const Explanation why = lookup.explain(asked);
    ASSERT_FALSE(why.considered.empty());
    EXPECT_EQ(why.considered.front().obstacle, Obstacle::limit);
    EXPECT_EQ(why.considered.front().reason, "163840 bytes of shared memory per block, the device allows 101376");
  }
}

}  // namespace
}  // namespace tunebook::testing
