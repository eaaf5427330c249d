#include "db/migrations.h"

#include <sys/resource.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/error.h"
#include "db/schema.h"
#include "db/sqlite.h"

namespace tunebook::testing {
namespace {

using sqlite::Database;
using sqlite::Statement;
using sqlite::Transaction;
using MigrationsTest = BookTest;
using SqliteTest = BookTest;

constexpr Schema kVersion1 = {1, "CREATE TABLE first (x INTEGER) STRICT; INSERT INTO first VALUES (7);", {}};
constexpr std::array<Migration, 2> kTwoSteps = {Migration{2, "ALTER TABLE first ADD COLUMN y INTEGER; UPDATE first SET y = 2 * x;"},
                                                Migration{3, "UPDATE first SET y = y + 1;"}};
constexpr Schema kVersion3 = {3, "CREATE TABLE first (x INTEGER, y INTEGER) STRICT;", kTwoSteps};

TEST_F(MigrationsTest, StepsRunInOrderAndOnlyOnce) {
  Database database(file(), Database::Mode::read_write);
  EXPECT_EQ(check_book(database, 1), 0);
  migrate(database, kVersion1);
  EXPECT_EQ(check_book(database, 1), 1);
  migrate(database, kVersion3);
  EXPECT_EQ(check_book(database, 3), 3);
  EXPECT_EQ(database.query_integer("SELECT y FROM first"), 15);
  migrate(database, kVersion3);
  EXPECT_EQ(database.query_integer("SELECT y FROM first"), 15);
}

TEST_F(MigrationsTest, ANewBookIsMadeWithoutSteps) {
  Database database(file(), Database::Mode::read_write);
  migrate(database, kVersion3);
  EXPECT_EQ(check_book(database, 3), 3);
  EXPECT_EQ(database.query_integer("SELECT count(*) FROM first"), 0);
}

// What a book holds besides its rows.
constexpr const char* kShape =
    "SELECT group_concat(line, char(10)) FROM (SELECT m.name || '.' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || "
    "coalesce(c.dflt_value, '-') || ' ' || c.pk AS line FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c "
    "WHERE m.type = 'table' UNION SELECT type || ' ' || name FROM sqlite_schema WHERE type != 'table' ORDER BY 1)";

// Books of older versions, written by the programs of that time: their trials and winners are still there, and their tables are those
// of a new book.
TEST_F(MigrationsTest, AStoredBookOfVersion1) {
  const std::filesystem::path old = file("old.db");
  std::filesystem::copy_file(std::filesystem::path(TUNEBOOK_SOURCE_DIR) / "tests/data/books/version_1.db", old);
  ASSERT_EQ(query_text(old, "PRAGMA user_version"), "1");
  { Store store(file("new.db")); }
  const std::string session = query_text(old, "SELECT uid FROM session");
  {
    const Store store(old);
    EXPECT_EQ(store.session_trials(session).size(), 24u);
    ASSERT_TRUE(store.session_winner(session));
    EXPECT_EQ(store.session_winner(session)->configuration.display(), "BLOCK_SIZE=128,ITEMS_PER_THREAD=8");
    EXPECT_TRUE(store.check().problems.empty());
  }
  EXPECT_EQ(query_text(old, kShape), query_text(file("new.db"), kShape));
  EXPECT_EQ(query_text(old, "PRAGMA user_version"), std::to_string(kSchemaVersion));
}

TEST_F(MigrationsTest, AStoredBookOfVersion3) {
  const std::filesystem::path old = file("old.db");
  std::filesystem::copy_file(std::filesystem::path(TUNEBOOK_SOURCE_DIR) / "tests/data/books/version_3.db", old);
  ASSERT_EQ(query_text(old, "PRAGMA user_version"), "3");
  { Store store(file("new.db")); }
  const std::string session = query_text(old, "SELECT uid FROM session");
  {
    const Store store(old);
    EXPECT_EQ(std::to_string(store.session_trials(session).size()), query_text(old, "SELECT count(*) FROM trial"));
    ASSERT_TRUE(store.session_winner(session));
    EXPECT_FALSE(store.session_winner(session)->finalists.empty());
    EXPECT_FALSE(store.session_baseline(session));
    EXPECT_TRUE(store.check().problems.empty());
  }
  EXPECT_EQ(query_text(old, kShape), query_text(file("new.db"), kShape));
  EXPECT_EQ(query_text(old, "PRAGMA user_version"), std::to_string(kSchemaVersion));
}

TEST_F(MigrationsTest, AStepThatFailsLeavesTheOldBook) {
  static constexpr std::array<Migration, 1> broken = {
      Migration{2, "ALTER TABLE first ADD COLUMN y INTEGER; DELETE FROM first; INSERT INTO nowhere VALUES (1);"}};
  Database database(file(), Database::Mode::read_write);
  migrate(database, kVersion1);
  EXPECT_THROW(migrate(database, {2, "", broken}), EnvironmentError);
  EXPECT_EQ(check_book(database, 2), 1);
  EXPECT_EQ(database.query_integer("SELECT count(*) FROM first"), 1);
  EXPECT_EQ(database.query_integer("SELECT count(*) FROM pragma_table_info('first')"), 1);
}

TEST_F(MigrationsTest, ManyMayMakeOneBookAtOnce) {
  for (int round = 0; round < 20; ++round) {
    const std::filesystem::path path = file("book" + std::to_string(round) + ".db");
    std::atomic<int> failures = 0;
    std::vector<std::thread> openers;
    for (int i = 0; i < 4; ++i) {
      openers.emplace_back([&] {
        try {
          const Store store(path);
        } catch (const std::exception& error) {
          ++failures;
          ADD_FAILURE() << error.what();
        }
      });
    }
    for (std::thread& opener : openers) opener.join();
    ASSERT_EQ(failures, 0);
  }
}

TEST_F(MigrationsTest, TheBookIsMarkedAndHardened) {
  { Store store(file()); }
  EXPECT_EQ(query_text(file(), "PRAGMA application_id"), std::to_string(kApplicationId));
  EXPECT_EQ(query_text(file(), "PRAGMA user_version"), std::to_string(kSchemaVersion));
  EXPECT_EQ(query_text(file(), "PRAGMA journal_mode"), "wal");
  EXPECT_EQ(query_text(file(), "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND NOT strict "
                               "AND name NOT LIKE 'sqlite_%'"),
            "0");
  Database database(file(), Database::Mode::read_write);
  EXPECT_EQ(database.query_integer("PRAGMA foreign_keys"), 1);
  EXPECT_EQ(database.query_integer("PRAGMA trusted_schema"), 0);
  EXPECT_THROW(database.execute("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema"), std::exception) << "defensive";
}

TEST_F(MigrationsTest, FindTrialIsAnIndexProbe) {
  { Store store(file()); }
  Database database(file(), Database::Mode::read_write);
  Statement plan(database, "EXPLAIN QUERY PLAN SELECT outcome FROM trial WHERE key = ? AND reused = 0 ORDER BY recorded_utc DESC, id DESC LIMIT 2");
  Statement::Run row = plan.run(sqlite::Blob{"0123456789abcdef"});
  ASSERT_TRUE(row.next());
  EXPECT_EQ(row.text(3), "SEARCH trial USING INDEX trial_by_key (key=?)");
  ASSERT_TRUE(row.next());
  EXPECT_EQ(row.text(3), "USE TEMP B-TREE FOR ORDER BY") << "of the few trials of one key";
  EXPECT_FALSE(row.next());
}

TEST_F(SqliteTest, ATransactionRollsBackUnlessCommitted) {
  Database database(file(), Database::Mode::read_write);
  database.execute("CREATE TABLE t (x TEXT) STRICT");
  {
    Transaction transaction(database, Transaction::Kind::write);
    database.execute("INSERT INTO t VALUES ('lost')");
  }
  {
    Transaction transaction(database, Transaction::Kind::write);
    Statement(database, "INSERT INTO t VALUES (?)").execute(std::string_view());
    transaction.commit();
  }
  EXPECT_EQ(database.query_integer("SELECT count(*) FROM t"), 1);
  EXPECT_EQ(database.query_integer("SELECT x = '' FROM t"), 1) << "an empty text is not NULL";
}

TEST_F(SqliteTest, TheWholeTransactionIsRepeatedWhileBusy) {
  Database database(file(), Database::Mode::read_write);
  database.execute("CREATE TABLE t (x INTEGER) STRICT");
  int calls = 0;
  sqlite::in_transaction(database, Transaction::Kind::write, [&] {
    database.execute("INSERT INTO t VALUES (1)");
    if (++calls < 3) {
      throw sqlite::BusyError("busy");
    }
  });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(database.query_integer("SELECT count(*) FROM t"), 1);
  const auto always_busy = [&] { throw sqlite::BusyError("busy"); };
  EXPECT_THROW(sqlite::in_transaction(database, Transaction::Kind::write, always_busy, std::chrono::milliseconds(30)),
               EnvironmentError);
  EXPECT_NE(error_of([&] { sqlite::wait_for_turn(database, {}, std::chrono::milliseconds(0)); }).find("still locked"),
            std::string::npos);
}

TEST_F(SqliteTest, AFullDiskIsAnEnvironmentErrorAndLosesNothing) {
  Database database(file(), Database::Mode::read_write);
  database.execute("CREATE TABLE t (x TEXT) STRICT; INSERT INTO t VALUES ('kept'); PRAGMA max_page_count = 4");
  std::string message;
  try {
    sqlite::in_transaction(database, Transaction::Kind::write, [&] {
      Statement(database, "INSERT INTO t VALUES (?)").execute(std::string(100'000, 'x'));
    });
  } catch (const EnvironmentError& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("the disk is full"), std::string::npos) << message;
  EXPECT_EQ(database.query_integer("SELECT count(*) FROM t"), 1);
}

}  // namespace
}  // namespace tunebook::testing
