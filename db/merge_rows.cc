#include "db/merge_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"

namespace tunebook {

MergeTable::MergeTable(sqlite::Database& target, std::string name, const std::map<std::string, RowIds>& ids) : name_(std::move(name)) {
  sqlite::Statement columns(target, "SELECT name FROM pragma_table_info(?) ORDER BY cid");
  sqlite::Statement::Run column = columns.run(name_);
  while (column.next()) {
    if (column.text(0) == "id") {
      has_id_ = true;
    } else {
      columns_.push_back(column.text(0));
    }
  }
  references_.resize(columns_.size());
  sqlite::Statement references(target, "SELECT \"from\", \"table\" FROM pragma_foreign_key_list(?)");
  sqlite::Statement::Run reference = references.run(name_);
  while (reference.next()) {
    references_[this->column(reference.text(0))] = &ids.at(reference.text(1));
  }
}

std::size_t MergeTable::column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end()) {
    throw std::logic_error(fmt::format("merge: table {} has no column {}", name_, name));
  }
  return static_cast<std::size_t>(found - columns_.begin());
}

std::string MergeTable::select() const {
  std::vector<std::string> columns;
  for (const std::string& column : columns_) {
    columns.push_back(name_ + "." + column);
  }
  return fmt::format("SELECT {}{} FROM {}", has_id_ ? name_ + ".id, " : "", fmt::join(columns, ", "), name_);
}

std::string MergeTable::insert() const {
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", name_, fmt::join(columns_, ", "),
                     fmt::join(std::vector<char>(columns_.size(), '?'), ", "));
}

std::vector<sqlite::Cell> MergeTable::cells(const sqlite::Statement::Run& row, int first) const {
  std::vector<sqlite::Cell> cells;
  cells.reserve(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    cells.push_back(row.cell(first + static_cast<int>(i)));
  }
  return cells;
}

std::vector<sqlite::Cell> MergeTable::mapped_cells(const sqlite::Statement::Run& row, int first, const std::string& book) const {
  std::vector<sqlite::Cell> result = cells(row, first);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (references_[i] != nullptr && !std::holds_alternative<std::monostate>(result[i])) {
      const auto* const id = std::get_if<std::int64_t>(&result[i]);
      const auto known = id != nullptr ? references_[i]->find(*id) : references_[i]->end();
      if (known == references_[i]->end()) {
        throw InputError(fmt::format("book {0}: it is damaged: a row of {1} refers by {2} to a row that is not there; `tunebook doctor "
                                     "--book {0}` tells more",
                                     book, name_, columns_[i]));
      }
      result[i] = known->second;
    }
  }
  return result;
}

void append_content(std::string& content, std::span<const sqlite::Cell> cells) {
  const auto append_number = [&](char type, std::uint64_t bits) {
    char bytes[9] = {type};
    std::memcpy(bytes + 1, &bits, sizeof bits);
    content.append(bytes, sizeof bytes);
  };
  for (const sqlite::Cell& cell : cells) {
    if (const auto* const integer = std::get_if<std::int64_t>(&cell)) {
      append_number('i', static_cast<std::uint64_t>(*integer));
    } else if (const auto* const real = std::get_if<double>(&cell)) {
      append_number('r', std::bit_cast<std::uint64_t>(*real));
    } else if (const auto* const text = std::get_if<std::string_view>(&cell)) {
      append_number('t', text->size());
      content += *text;
    } else if (const auto* const blob = std::get_if<sqlite::Blob>(&cell)) {
      append_number('b', blob->bytes.size());
      content += blob->bytes;
    } else {
      content += 'n';
    }
  }
}

}  // namespace tunebook
