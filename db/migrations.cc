#include "db/migrations.h"

#include <array>
#include <string>

#include <fmt/format.h>

#include "core/error.h"
#include "db/schema.h"

namespace tunebook {

const Schema& book_schema() {
  static const std::array<Migration, 4> steps = {Migration{2, kMigration2Sql}, Migration{3, kMigration3Sql}, Migration{4, kMigration4Sql},
                                                   Migration{5, kMigration5Sql}};
  static_assert(steps.size() + 1 == kSchemaVersion);
  static const Schema schema{kSchemaVersion, kSchemaSql, steps};
  return schema;
}

namespace {

// Within a transaction: another program may be making the book between one look and the next.
std::int64_t check_in_transaction(sqlite::Database& database, std::int64_t newest) {
  const std::int64_t application = database.query_integer("PRAGMA application_id");
  const std::int64_t version = database.query_integer("PRAGMA user_version");
  if (application == 0 && version == 0 && database.query_integer("SELECT count(*) FROM sqlite_schema") == 0) {
    return 0;
  }
  if (application != kApplicationId) {
    throw InputError(fmt::format("book {}: the file is an SQLite database, but no Tunebook book; give another path with --book",
                                 database.name()));
  }
  if (version < 1) {
    throw InputError(fmt::format("book {0}: it is damaged: it has version {1}, and no Tunebook wrote such a one; restore it from a copy, or give another "
                                 "path with --book",
                                 database.name(), version));
  }
  if (version > newest) {
    throw InputError(fmt::format("book {}: it has version {}, this Tunebook knows versions up to {}; use a newer Tunebook",
                                 database.name(), version, newest));
  }
  return version;
}

}  // namespace

std::int64_t check_book(sqlite::Database& database, std::int64_t newest) {
  sqlite::Transaction transaction(database, sqlite::Transaction::Kind::read);
  const std::int64_t version = check_in_transaction(database, newest);
  transaction.commit();
  return version;
}

void migrate(sqlite::Database& database, const Schema& schema) {
  if (check_book(database, schema.version) == schema.version) {
    return;
  }
  sqlite::in_transaction(database, sqlite::Transaction::Kind::write, [&] {
    // Looked at again under the lock: another program may have done it meanwhile.
    const std::int64_t version = check_in_transaction(database, schema.version);
    if (version == 0) {
      database.execute(schema.sql);
    }
    for (const Migration& step : schema.steps) {
      if (version > 0 && step.version > version) {
        database.execute(step.sql);
      }
    }
    database.execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
    database.execute(fmt::format("PRAGMA user_version = {}", schema.version).c_str());
  });
}

}  // namespace tunebook
