#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "db/sqlite.h"

namespace tunebook {

// Row ids of one table of a book -> those of the same rows in the book that it is merged into.
using RowIds = std::unordered_map<std::int64_t, std::int64_t>;

// A table as the schema declares it, so that a column added to the schema is merged with the others.
class MergeTable {
 public:
  // `ids` has the row ids of every table that this one refers to when rows are mapped.
  MergeTable(sqlite::Database& target, std::string name, const std::map<std::string, RowIds>& ids);

  const std::string& name() const { return name_; }
  const std::vector<std::string>& columns() const { return columns_; }  // without id
  std::size_t column(std::string_view name) const;
  // "SELECT id, COLUMNS FROM NAME" and an INSERT of the columns that returns nothing.
  std::string select() const;
  std::string insert() const;

  // The columns of a row of select(), or of any row whose columns begin at `first`.
  std::vector<sqlite::Cell> cells(const sqlite::Statement::Run& row, int first) const;
  // The same of a row of the other book, with its references as they are in the target. Throws InputError if it refers to nothing.
  std::vector<sqlite::Cell> mapped_cells(const sqlite::Statement::Run& row, int first, const std::string& book) const;

 private:
  std::string name_;
  std::vector<std::string> columns_;
  std::vector<const RowIds*> references_;  // of each column; null: it refers to nothing
  bool has_id_ = false;
};

// The content of cells as bytes: equal if, and only if, the cells have the same types and values, doubles bit by bit.
void append_content(std::string& content, std::span<const sqlite::Cell> cells);

}  // namespace tunebook
