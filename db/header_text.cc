#include "db/header_text.h"

#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <variant>

#include <fmt/format.h>

namespace tunebook::header_text {

std::string literal(std::string_view text) {
  constexpr std::string_view kPlain = " _.,:;+-*/=()[]<>#@";
  std::string out = "{\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 128 && (std::isalnum(byte) != 0 || kPlain.find(c) != std::string_view::npos);
    if (plain) {
      out += c;
    } else {
      out += fmt::format("\\{:03o}", byte);
    }
  }
  return out + fmt::format("\", {}}}", text.size());
}

std::string integer(std::int64_t value) {
  // The least integer has no literal of its own.
  return value == std::numeric_limits<std::int64_t>::min() ? "INT64_MIN" : fmt::format("{}", value);
}

std::string real(double value) {
  if (std::isfinite(value)) {
    return fmt::format("{:a}", value);
  }
  return std::isnan(value) ? "std::numeric_limits<double>::quiet_NaN()"
                           : fmt::format("{}std::numeric_limits<double>::infinity()", value < 0 ? "-" : "");
}

std::string value_text(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return fmt::format("Value(std::int64_t{{{}}})", integer(*number));
  }
  if (const auto* truth = std::get_if<bool>(&value)) {
    return *truth ? "Value(true)" : "Value(false)";
  }
  return fmt::format("Value(std::string_view{})", literal(std::get<std::string>(value)));
}

std::string limits_text(const DeviceLimits& limits) {
  const auto three = [](const std::array<std::int64_t, 3>& extents) {
    return fmt::format("{{{}, {}, {}}}", integer(extents[0]), integer(extents[1]), integer(extents[2]));
  };
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}", integer(limits.max_threads_per_block), three(limits.max_block),
                     three(limits.max_grid), integer(limits.shared_bytes_per_block), integer(limits.shared_bytes_per_block_optin),
                     integer(limits.shared_bytes_per_sm), integer(limits.registers_per_block), integer(limits.registers_per_sm),
                     integer(limits.max_threads_per_sm), integer(limits.warp_size), integer(limits.l2_bytes),
                     integer(limits.max_blocks_per_sm));
}

std::string Table::add_range(const std::vector<std::string>& rows) {
  std::string key;
  for (const std::string& row : rows) {
    key += row + "\n";
  }
  const auto [known, added] = ranges_.try_emplace(key, rows_.size());
  if (added) {
    rows_.insert(rows_.end(), rows.begin(), rows.end());
  }
  return fmt::format("{{{}, {}}}", known->second, rows.size());
}

std::string Table::range_since(std::size_t first) const { return fmt::format("{{{}, {}}}", first, rows_.size() - first); }

std::string Table::name() const { return fmt::format("{{k{}, {}}}", name_, rows_.size()); }

std::string Table::text() const {
  constexpr std::size_t kLineWidth = 120;
  std::string out = fmt::format("inline constexpr {} k{}[] = {{\n", type_, name_);
  std::size_t column = 0;
  for (const std::string& row : rows_) {
    if (column > 0 && (layout_ == Layout::row_per_line || column + row.size() > kLineWidth)) {
      out += '\n';
      column = 0;
    }
    out += (column == 0 ? "  " : " ") + row + ",";
    column += row.size() + 2;
  }
  // A table has at least one element, for C++ has no empty arrays.
  return out + (rows_.empty() ? "  {}\n};\n" : "\n};\n");
}

}  // namespace tunebook::header_text
