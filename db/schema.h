#pragma once

#include <cstdint>

namespace tunebook {

inline constexpr std::int64_t kApplicationId = 0x54424f4b;  // "TBOK" in the SQLite header: this file is a Tunebook book
inline constexpr std::int64_t kSchemaVersion = 5;           // user_version of the books this program writes
inline constexpr std::int64_t kPublicationVersion = 3;      // the first that has the tables `publication` and `requirement`
inline constexpr std::int64_t kModelVersion = 5;            // the first that has the table `model`

// db/schema.sql: a new book, of version kSchemaVersion.
extern const char* const kSchemaSql;
// db/migration_2.sql: from version 1 to version 2.
extern const char* const kMigration2Sql;
// db/migration_3.sql: from version 2 to version 3.
extern const char* const kMigration3Sql;
// db/migration_4.sql: from version 3 to version 4.
extern const char* const kMigration4Sql;
// db/migration_5.sql: from version 4 to version 5.
extern const char* const kMigration5Sql;

}  // namespace tunebook
