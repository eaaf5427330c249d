#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.h"
#include "core/value.h"

namespace tunebook::header_text {

// C++ text for a frozen header. Nothing that comes from a book becomes code.

// A text as a std::string_view of a literal. All but letters, digits and what can mean nothing in a literal is escaped, in octal,
// which ends after three digits.
std::string literal(std::string_view text);
std::string integer(std::int64_t value);
std::string real(double value);      // to the last bit
std::string value_text(const Value& value);
std::string limits_text(const DeviceLimits& limits);

// A constant array of the header, built row by row.
class Table {
 public:
  enum class Layout { row_per_line, packed };
  Table(std::string type, std::string name, Layout layout = Layout::row_per_line)
      : type_(std::move(type)), name_(std::move(name)), layout_(layout) {}

  std::size_t size() const { return rows_.size(); }
  void add(std::string row) { rows_.push_back(std::move(row)); }
  // The index range of the rows, which may be found where they already are.
  std::string add_range(const std::vector<std::string>& rows);
  // The index range of what was added since `first`.
  std::string range_since(std::size_t first) const;
  // As a List.
  std::string name() const;
  std::string text() const;

 private:
  std::string type_, name_;
  Layout layout_;
  std::vector<std::string> rows_;
  std::map<std::string, std::size_t> ranges_;
};

}  // namespace tunebook::header_text
