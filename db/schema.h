#pragma once

#include <cstdint>

namespace tunebook {

inline constexpr std::int64_t kApplicationId = 0x54424f4b;  // "TBOK" in the SQLite header: this file is a Tunebook book
inline constexpr std::int64_t kSchemaVersion = 1;           // user_version of the books this program writes

// db/schema.sql: the book of version 1, made by the first migration.
extern const char* const kSchemaSql;

}  // namespace tunebook
