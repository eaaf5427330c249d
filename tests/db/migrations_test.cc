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

constexpr std::array<Migration, 2> kTwoSteps = {
    Migration{1, "CREATE TABLE first (x INTEGER) STRICT; INSERT INTO first VALUES (7);"},
    Migration{2, "ALTER TABLE first ADD COLUMN y INTEGER; UPDATE first SET y = 2 * x;"}};

TEST_F(MigrationsTest, StepsRunInOrderAndOnlyOnce) {
  Database database(file(), Database::Mode::read_write);
  EXPECT_EQ(check_book(database, 1), 0);
  migrate(database, std::span(kTwoSteps).first(1));
  EXPECT_EQ(check_book(database, 1), 1);
  migrate(database, kTwoSteps);
  EXPECT_EQ(check_book(database, 2), 2);
  EXPECT_EQ(database.query_integer("SELECT y FROM first"), 14);
  migrate(database, kTwoSteps);
  EXPECT_EQ(database.query_integer("SELECT count(*) FROM first"), 1);
}

TEST_F(MigrationsTest, AStepThatFailsLeavesTheOldBook) {
  constexpr std::array<Migration, 2> broken = {
      kTwoSteps[0], Migration{2, "ALTER TABLE first ADD COLUMN y INTEGER; DELETE FROM first; INSERT INTO nowhere VALUES (1);"}};
  Database database(file(), Database::Mode::read_write);
  migrate(database, std::span(kTwoSteps).first(1));
  EXPECT_THROW(migrate(database, broken), EnvironmentError);
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
  Statement plan(database, "EXPLAIN QUERY PLAN SELECT outcome FROM trial WHERE key = ? AND reused = 0 ORDER BY id DESC LIMIT 2");
  Statement::Run row = plan.run(sqlite::Blob{"0123456789abcdef"});
  ASSERT_TRUE(row.next());
  EXPECT_EQ(row.text(3), "SEARCH trial USING INDEX trial_by_key (key=?)");
  EXPECT_FALSE(row.next()) << "no sorting";
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
