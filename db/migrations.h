#pragma once

#include <cstdint>
#include <span>

#include "db/sqlite.h"

namespace tunebook {

// One step of the book's history: brings a book of version `version` - 1 to `version`.
struct Migration {
  std::int64_t version;
  const char* sql;
};

// How a new book is made, and how an older one is brought to the same state.
struct Schema {
  std::int64_t version;              // of a new book
  const char* sql;                   // makes a new book
  std::span<const Migration> steps;  // in order; the last one's version is `version`
};
const Schema& book_schema();

// What the file is, from its header. Throws InputError (by name of the book) if it is an SQLite database of something else, or
// a book of a version newer than `newest`; NotADatabaseError if it is none at all. Returns its version; 0: empty, not yet a book.
std::int64_t check_book(sqlite::Database& database, std::int64_t newest);

// Brings an empty or older book to the schema's version, in one transaction: a crash leaves it as it was. Several programs
// may do so at once.
void migrate(sqlite::Database& database, const Schema& schema);

}  // namespace tunebook
