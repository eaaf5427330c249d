#pragma once

#include <string>
#include <vector>

namespace tunebook {

// Columns padded to their widest cell; those marked `right` are right-aligned. Rows may be shorter than the header. Escape sequences for
// colours take no column.
struct TextTable {
  std::vector<std::string> header;
  std::vector<bool> right;
  std::vector<std::vector<std::string>> rows;
  std::string to_text() const;
};

// "12.3 us", "4.56 ms", "1.23 s": three or four digits.
std::string format_time_us(double microseconds);
// "42 s", "3 min 20 s"
std::string format_duration(double seconds);

}  // namespace tunebook
