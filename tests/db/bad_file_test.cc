#include <fstream>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/error.h"
#include "db/store.h"
#include "tunebook/lookup.h"

namespace tunebook::testing {
namespace {

using BadFileTest = BookTest;

// What opening `path` as a book for writing says; fails the test unless it is bad input.
std::string refusal(const std::filesystem::path& path) {
  try {
    Store store(path);
  } catch (const InputError& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not an InputError: " << error.what();
  }
  return "";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" lacks \"" << part << "\"";
}

TEST_F(BadFileTest, ATextFileIsNoBookAndStaysAsItIs) {
  for (const std::string& text : {std::string("hello\n"), std::string(5000, 'x')}) {
    std::ofstream(file()) << text;
    expect_contains(refusal(file()), "no SQLite database");
    expect_contains(error_of([&] { Lookup lookup(file().string()); }), "no SQLite database");
    EXPECT_EQ(file_bytes(file()), text);
  }
}

TEST_F(BadFileTest, AnotherProgramsDatabaseIsNoBookAndStaysAsItIs) {
  ASSERT_EQ(run_sql(file(), "CREATE TABLE bookmarks (url TEXT)"), "");
  const std::string before = file_bytes(file());
  expect_contains(refusal(file()), "no Tunebook book");
  expect_contains(error_of([&] { Lookup lookup(file().string()); }), "no Tunebook book");
  EXPECT_EQ(file_bytes(file()), before);
}

TEST_F(BadFileTest, ANewerBookIsRefused) {
  { Store store(file()); }
  ASSERT_EQ(run_sql(file(), "PRAGMA user_version = 99"), "");
  for (const std::string& message :
       {refusal(file()), error_of([&] { Lookup lookup(file().string()); })}) {
    expect_contains(message, "version 99");
    expect_contains(message, "newer Tunebook");
  }
}

TEST_F(BadFileTest, AFolderIsNoBook) {
  expect_contains(refusal(folder_), "this is a folder");
  expect_contains(error_of([&] { Lookup lookup(folder_.string()); }), "no regular file");
}

TEST_F(BadFileTest, AnEmptyPathIsRefused) { expect_contains(refusal(""), "empty"); }

TEST_F(BadFileTest, AnEmptyFileBecomesABook) {
  std::ofstream{file()};
  expect_contains(error_of([&] { Lookup lookup(file().string()); }), "empty");
  Store store(file());
  EXPECT_TRUE(store.check().problems.empty());
}

TEST_F(BadFileTest, AFolderThatCannotBeMadeIsNamedWithTheReason) {
  std::ofstream(file("plain")) << "x";
  const std::string message = refusal(file("plain") / "sub" / "book.db");
  expect_contains(message, (file("plain") / "sub").string());
  expect_contains(message, "Not a directory");
}

TEST_F(BadFileTest, MissingFoldersAreMade) {
  Store store(file("a") / "b" / "book.db");
  EXPECT_TRUE(std::filesystem::exists(file("a") / "b" / "book.db"));
}

TEST_F(BadFileTest, ABookOfAnotherUserIsNotWrittenButRead) {
  {
    Store store(file());
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32), 10);
  }
  using std::filesystem::perms;
  std::filesystem::permissions(file(), perms::owner_read | perms::group_read | perms::others_read);
  std::filesystem::permissions(folder_, perms::owner_read | perms::owner_exec | perms::group_read | perms::group_exec |
                                            perms::others_read | perms::others_exec);
  expect_contains(as_other_user([&] { return error_of([&] { Store store(file()); }); }), "cannot be written");
  expect_contains(as_other_user([&] { return error_of([&] { Store store(file("new.db")); }); }), "cannot be opened");
  expect_contains(as_other_user([&] { return error_of([&] { Store store(file("sub") / "new.db"); }); }), "Permission denied");
  EXPECT_EQ(as_other_user([&] {
              Lookup lookup(file().string());
              Query query;
              query.kernel = "matmul";
              query.problem = {{"m", 64}, {"n", 64}, {"k", 64}};
              query.device.compute_capability = 90;
              const auto answer = lookup.best(query);
              return answer ? std::string(tier_name(answer->tier)) : "none";
            }),
            "exact");
}

TEST_F(BadFileTest, AMissingBookSaysSo) {
  const std::string message = error_of([&] { Lookup lookup(file("none.db").string()); });
  expect_contains(message, "none.db");
  expect_contains(message, "No such file");
}

TEST_F(BadFileTest, ADamagedBookIsAnError) {
  {
    Store store(file());
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32), 10);
  }
  std::filesystem::resize_file(file(), 4096);
  EXPECT_NE(error_of([&] {
              Store store(file());
              store.check();
              store.standing_winner(some_context(), matmul_problem(64, 64, 64));
            }),
            "");
  EXPECT_NE(error_of([&] {
              Query query;
              query.kernel = "matmul";
              Lookup(file().string()).best(query);
            }),
            "");
}

TEST_F(BadFileTest, ABookWithoutItsTablesIsAnError) {
  { Store store(file()); }
  ASSERT_EQ(run_sql(file(), "DROP TABLE kernel"), "");
  Query query;
  query.kernel = "matmul";
  expect_contains(error_of([&] { Lookup(file().string()).best(query); }), "no such table: kernel");
}

}  // namespace
}  // namespace tunebook::testing
