#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tunebook {

// Columns padded to their widest cell; those marked `right` are right-aligned. Rows may be shorter than the header. Escape sequences for
// colours take no column.
struct TextTable {
  std::vector<std::string> header;
  std::vector<bool> right;
  std::vector<std::vector<std::string>> rows;
  // Where the lines would be longer than `columns` (0: any length will do), the widest columns that are not right-aligned are made narrower, though
  // not below 24, and what does not fit goes on in further lines, after a comma or a space where there is one.
  std::string to_text(std::size_t columns = 0) const;
};

// "12.3 us", "4.56 ms", "1.23 s": three or four digits.
std::string format_time_us(double microseconds);
// "42 s", "3 min 20 s"
std::string format_duration(double seconds);

}  // namespace tunebook
