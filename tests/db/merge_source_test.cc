// Books that cannot be merged, and those that are hard to read: read-only, being written, of an older version.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "book_content.h"
#include "book_fixture.h"
#include "core/error.h"
#include "db/merge.h"
#include "db/publish.h"
#include "db/store.h"
#include "growing_book.h"

namespace tunebook::testing {
namespace {

class MergeSourceTest : public BookTest {
 protected:
  std::filesystem::path target() const { return file("all.db"); }
  // What merging this says; fails the test unless it is bad input and the target was not made.
  std::string refusal(const std::filesystem::path& source) const {
    std::string text;
    try {
      merge_books({good_book(), source}, target());
      ADD_FAILURE() << "merged: " << source;
    } catch (const InputError& error) {
      text = error.what();
    }
    EXPECT_FALSE(std::filesystem::exists(target())) << text;
    return text;
  }
  std::filesystem::path good_book() const {
    const std::filesystem::path path = file("good.db");
    if (!std::filesystem::exists(path)) {
      Store store(path);
      add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32), 10);
    }
    return path;
  }
  static std::filesystem::path stored_book(const char* name) { return std::filesystem::path(TUNEBOOK_SOURCE_DIR) / "tests/data/books" / name; }
};

void expect_contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" lacks \"" << part << "\"";
  }
}

TEST_F(MergeSourceTest, WhatIsNoWorkingBookIsRefusedBeforeAnythingIsWritten) {
  expect_contains(refusal(file("none.db")), {"none.db", "No such file"});
  expect_contains(refusal(folder_), {"no regular file"});
  std::ofstream(file("text.db")) << std::string(5000, 'x');
  expect_contains(refusal(file("text.db")), {"text.db", "no SQLite database"});
  std::ofstream{file("empty.db")};
  expect_contains(refusal(file("empty.db")), {"empty.db", "the file is empty"});
  ASSERT_EQ(run_sql(file("foreign.db"), "CREATE TABLE bookmarks (url TEXT)"), "");
  expect_contains(refusal(file("foreign.db")), {"foreign.db", "no Tunebook book"});
  publish_book(good_book(), file("published.db"));
  expect_contains(refusal(file("published.db")), {"published.db", "this is a published book", "merge the working book"});
  copy_book(good_book(), file("newer.db"));
  ASSERT_EQ(run_sql(file("newer.db"), "PRAGMA user_version = 99"), "");
  expect_contains(refusal(file("newer.db")), {"newer.db", "version 99", "use a newer Tunebook"});
  for (const char* const version : {"-1", "0", "-2147483648"}) {
    ASSERT_EQ(run_sql(file("newer.db"), std::string("PRAGMA user_version = ") + version), "");
    expect_contains(refusal(file("newer.db")), {"newer.db", std::string("it has version ") + version, "damaged"});
  }
  std::ofstream(file("byte.db")) << 'x';
  expect_contains(refusal(file("byte.db")), {"byte.db", "no Tunebook book"});
}

TEST_F(MergeSourceTest, ATargetThatIsNoWorkingBookIsRefusedAndStaysAsItIs) {
  publish_book(good_book(), file("published.db"));
  std::ofstream(file("text.db")) << "hello";
  std::ofstream(file("byte.db")) << 'x';
  std::ofstream(file("zero.db")) << '\0';
  std::ofstream(file("long.db")) << std::string(5000, 'x');
  std::ofstream(file("zeros.db")) << std::string(5000, '\0');
  ASSERT_EQ(run_sql(file("foreign.db"), "CREATE TABLE bookmarks (url TEXT)"), "");
  copy_book(good_book(), file("damaged.db"));
  ASSERT_EQ(run_sql(file("damaged.db"), "PRAGMA user_version = -1"), "");
  copy_book(good_book(), file("cut.db"));
  std::filesystem::resize_file(file("cut.db"), 700);
  for (const char* const name : {"published.db", "text.db", "byte.db", "zero.db", "long.db", "zeros.db", "foreign.db", "damaged.db"}) {
    const std::string before = file_bytes(file(name));
    expect_contains(error_of([&] { merge_books({good_book()}, file(name)); }), {name});
    EXPECT_THROW(merge_books({good_book()}, file(name)), InputError) << name;
    EXPECT_EQ(file_bytes(file(name)), before) << name;
    EXPECT_FALSE(std::filesystem::exists(file(std::string(name) + "-wal"))) << name;
  }
  const std::string before = file_bytes(file("cut.db"));
  EXPECT_NE(error_of([&] { merge_books({good_book()}, file("cut.db")); }), "");
  EXPECT_EQ(file_bytes(file("cut.db")), before);
}

// Kernels and devices of all books are added first, in the order in which they were seen: those of a book that is then refused must not stay.
TEST_F(MergeSourceTest, OfARefusedBookAndThoseAfterItNothingIsLeft) {
  const auto book_of = [&](const char* name, const char* kernel, const char* device) {
    TrialContext context = some_context();
    context.kernel = kernel;
    context.kernel_hash = std::string("hash of ") + kernel;
    context.device.name = device;
    Store store(file(name));
    add_finished_session(store, context, matmul_problem(64, 64, 64), tile(32), 10);
    return file(name);
  };
  const std::filesystem::path bad = book_of("bad.db", "bad", "bad device"), later = book_of("later.db", "later", "later device");
  ASSERT_EQ(run_sql(bad, "UPDATE configuration SET json = '{\"BM\":16,\"PAD\":true}'"), "");
  expect_contains(error_of([&] { merge_books({good_book(), bad, later}, target()); }), {"bad.db", "a row of configuration has not the hash of its text"});
  EXPECT_EQ(query_text(target(), "SELECT group_concat(name) FROM kernel"), query_text(good_book(), "SELECT group_concat(name) FROM kernel"));
  EXPECT_EQ(query_text(target(), "SELECT group_concat(name) FROM device"), query_text(good_book(), "SELECT group_concat(name) FROM device"));
  EXPECT_EQ(query_text(target(), "SELECT count(*) FROM session"), "1");
  EXPECT_TRUE(Store(target()).check().problems.empty());
  merge_books({good_book(), later}, target());
  EXPECT_EQ(query_text(target(), "SELECT group_concat(name) FROM device"), query_text(good_book(), "SELECT group_concat(name) FROM device") + ",later device");
}

TEST_F(MergeSourceTest, TheTargetAmongTheSourcesIsPassedOver) {
  std::filesystem::create_symlink("all.db", file("link.db"));
  merge_books({good_book()}, target());
  const MergeResult result = merge_books({target(), good_book(), file("link.db"), good_book()}, target());
  EXPECT_EQ(result.added, MergeCounts());
  ASSERT_EQ(result.books.size(), 4U);
  EXPECT_TRUE(result.books[0].is_target);
  EXPECT_FALSE(result.books[1].is_target);
  EXPECT_TRUE(result.books[2].is_target);
  EXPECT_EQ(result.books[3].trials, 1);
}

TEST_F(MergeSourceTest, ADamagedBookIsRefused) {
  copy_book(good_book(), file("bad.db"));
  ASSERT_EQ(run_sql(file("bad.db"), "UPDATE configuration SET json = '{\"BM\":16,\"PAD\":true}'"), "");
  const std::string wrong_hash = error_of([&] { merge_books({file("bad.db")}, target()); });
  expect_contains(wrong_hash, {"bad.db", "a row of configuration has not the hash of its text"});
  EXPECT_EQ(query_text(target(), "SELECT count(*) FROM configuration"), "0");
  copy_book(good_book(), file("lost.db"));
  ASSERT_EQ(run_sql(file("lost.db"), "PRAGMA foreign_keys = OFF; DELETE FROM problem"), "");
  expect_contains(error_of([&] { merge_books({file("lost.db")}, target()); }), {"lost.db", "damaged", "a row of session", "problem_id", "doctor"});
  EXPECT_TRUE(Store(target()).check().problems.empty());
  EXPECT_EQ(Store(target()).check().sessions, 0);
}

// Of two texts of one kernel or device one is kept: a damaged one must not take the place of that in the target, whichever book comes first.
TEST_F(MergeSourceTest, ADamagedDescriptionDoesNotSpread) {
  const std::vector<std::pair<std::string, std::string>> damages = {
      {"UPDATE kernel SET spec = '~' || spec", "spec of a row of kernel is no JSON object"},
      {"UPDATE kernel SET spec = '[' || spec || ']'", "spec of a row of kernel is no JSON object"},
      {"UPDATE device SET json = json || '}'", "json of a row of device is no JSON object"},
      {"UPDATE device SET json = json_set(json, '$.name', 'another, with a longer name')", "another name than its key says"},
  };
  for (std::size_t i = 0; i < damages.size(); ++i) {
    const std::filesystem::path bad = file("bad" + std::to_string(i) + ".db"), into = file("into" + std::to_string(i) + ".db");
    copy_book(good_book(), bad);
    ASSERT_EQ(run_sql(bad, damages[i].first), "");
    merge_books({good_book()}, into);
    const std::string before = query_text(into, "SELECT group_concat(spec) FROM kernel") + query_text(into, "SELECT group_concat(json) FROM device");
    for (const std::vector<std::filesystem::path>& sources : {std::vector{bad, good_book()}, {good_book(), bad}}) {
      expect_contains(error_of([&] { merge_books(sources, into); }), {bad.string(), "damaged", damages[i].second, "doctor"});
      EXPECT_EQ(query_text(into, "SELECT group_concat(spec) FROM kernel") + query_text(into, "SELECT group_concat(json) FROM device"), before);
    }
  }
}

// Another session of the same uid: neither is right.
TEST_F(MergeSourceTest, ASessionThatWasTamperedWithIsRefused) {
  copy_book(good_book(), file("changed.db"));
  ASSERT_EQ(run_sql(file("changed.db"), "UPDATE session SET seed = 7"), "");
  for (const bool swapped : {false, true}) {
    const std::filesystem::path into = file(swapped ? "one.db" : "other.db");
    const std::string text = error_of([&] {
      merge_books(swapped ? std::vector{file("changed.db"), good_book()} : std::vector{good_book(), file("changed.db")}, into);
    });
    expect_contains(text, {"seed differs", into.string(), query_text(good_book(), "SELECT uid FROM session")});
    EXPECT_TRUE(Store(into).check().problems.empty());
  }
}

TEST_F(MergeSourceTest, OlderBooksAreMergedAndStayAsTheyAre) {
  for (const char* const name : {"version_1.db", "version_3.db"}) {
    const std::string before = file_bytes(stored_book(name));
    copy_book(stored_book(name), file(name));
    { const Store migrated(file(name)); }
    merge_books({stored_book(name)}, target());
    EXPECT_EQ(file_bytes(stored_book(name)), before);
    EXPECT_FALSE(std::filesystem::exists(stored_book(name).string() + "-wal"));
  }
  const BookContent expected = union_of(read_content(file("version_1.db")), read_content(file("version_3.db")));
  EXPECT_EQ(difference(read_content(target()), expected), "");
  EXPECT_EQ(merge_books({file("version_1.db"), stored_book("version_1.db")}, target()).added, MergeCounts());
}

// A user who may read the books, but neither them nor their folder may he write.
class ReadOnlyFolderTest : public MergeSourceTest {
 protected:
  void merge_as_other_user(const std::filesystem::path& source, const BookContent& expected) {
    using std::filesystem::perms;
    std::filesystem::create_directory(file("shut"));
    for (const char* const suffix : {"", "-wal"}) {
      if (std::filesystem::exists(source.string() + suffix)) {
        std::filesystem::copy_file(source.string() + suffix, file("shut") / (std::string("book.db") + suffix));
        std::filesystem::permissions(file("shut") / (std::string("book.db") + suffix), perms::owner_read | perms::group_read | perms::others_read);
      }
    }
    const perms readable = perms::owner_read | perms::owner_exec | perms::group_read | perms::group_exec | perms::others_read | perms::others_exec;
    std::filesystem::permissions(file("shut"), readable);
    std::filesystem::create_directory(file("open"));
    std::filesystem::permissions(file("open"), perms::all);
    std::filesystem::permissions(folder_, readable);
    EXPECT_EQ(as_other_user([&] { return error_of([&] { merge_books({file("shut") / "book.db"}, file("open") / "all.db"); }); }), "");
    std::filesystem::permissions(folder_, perms::owner_all);
    std::filesystem::permissions(file("shut"), perms::owner_all);
    EXPECT_EQ(difference(read_content(file("open") / "all.db"), expected), "");
    EXPECT_FALSE(std::filesystem::exists(file("shut") / "book.db-shm"));
  }
};

TEST_F(ReadOnlyFolderTest, AClosedBook) {
  Dice dice(3);
  grow_book(dice, file(), 5);
  merge_as_other_user(file(), read_content(file()));
}

// The book of a machine that stopped in the middle: most of it is in the -wal file.
TEST_F(ReadOnlyFolderTest, ABookWithItsWalFile) {
  Store open_book(file());
  add_finished_session(open_book, some_context(), matmul_problem(64, 64, 64), tile(32), 10);
  ASSERT_GT(std::filesystem::file_size(file().string() + "-wal"), 0U);
  merge_as_other_user(file(), read_content(file()));
  EXPECT_EQ(query_text(file("open") / "all.db", "SELECT count(*) FROM trial"), "1");
}

TEST_F(ReadOnlyFolderTest, AnOlderBook) {
  copy_book(stored_book("version_1.db"), file("migrated.db"));
  { const Store migrated(file("migrated.db")); }
  merge_as_other_user(stored_book("version_1.db"), read_content(file("migrated.db")));
}

TEST_F(MergeSourceTest, ABookLeftByAKilledTunerIsReadWithItsWalFile) {
  {
    Store open_book(file());
    add_finished_session(open_book, some_context(), matmul_problem(64, 64, 64), tile(32), 10);
    for (const char* const suffix : {"", "-wal"}) {
      std::filesystem::copy_file(file().string() + suffix, file("left.db").string() + suffix);
    }
  }
  const std::string before = file_bytes(file("left.db")), wal_before = file_bytes(file("left.db").string() + "-wal");
  EXPECT_EQ(merge_books({file("left.db")}, target()).added.trials, 1);
  EXPECT_EQ(file_bytes(file("left.db")), before);
  EXPECT_EQ(file_bytes(file("left.db").string() + "-wal"), wal_before);
}

TEST_F(MergeSourceTest, ABookThatIsWrittenMeanwhileIsMergedAsItIsAtSomeMoment) {
  constexpr std::int64_t kTrials = 400;
  std::atomic<std::int64_t> recorded = 0;
  const TrialContext context = some_context();
  { const Store made(file()); }
  std::string failure;
  std::thread writer([&] {
    failure = error_of([&] {
      while (recorded < kTrials) {  // twice: its -wal file goes and comes back
        Store store(file());
        const SessionRecord session = store.open_session(context, some_session(), false);
        for (int i = 0; i < kTrials / 2; ++i) {
          store.record_trial(session.id, context, session.problem, timed_trial(recorded, tile(16), 1));
          ++recorded;
        }
      }
    });
  });
  MergeOptions options;
  options.rows_per_transaction = 50;
  std::string error;
  while (recorded < kTrials && error.empty()) {
    const std::int64_t before = recorded;
    error = error_of([&] { merge_books({file()}, target(), options); });
    if (error.empty()) {
      EXPECT_GE(std::stoll(query_text(target(), "SELECT count(*) FROM trial")), before);
    }
  }
  writer.join();
  EXPECT_EQ(error, "");
  EXPECT_EQ(failure, "");
  merge_books({file()}, target());
  EXPECT_TRUE(Store(target()).check().problems.empty());
  EXPECT_EQ(difference(read_content(target()), read_content(file())), "");
}

}  // namespace
}  // namespace tunebook::testing
