#include "core/text_table.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace tunebook {
namespace {

// Columns that a text takes: code points, escape sequences not counted.
std::size_t display_width(const std::string& text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++width;
    }
  }
  return width;
}

}  // namespace

std::string TextTable::to_text() const {
  std::vector<std::size_t> widths(header.size(), 0);
  const auto measure = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], display_width(cells[i]));
  };
  measure(header);
  for (const auto& row : rows) measure(row);

  std::string text;
  const auto add = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i) {
      const std::string space(widths[i] - display_width(cells[i]), ' ');
      if (i > 0) line += "  ";
      line += i < right.size() && right[i] ? space + cells[i] : cells[i] + space;
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  };
  add(header);
  std::size_t total = widths.empty() ? 0 : 2 * (widths.size() - 1);
  for (const std::size_t width : widths) total += width;
  text += std::string(total, '-') + '\n';
  for (const auto& row : rows) add(row);
  return text;
}

std::string format_time_us(double microseconds) {
  if (microseconds < 1e3) return fmt::format("{:.2f} us", microseconds);
  if (microseconds < 1e6) return fmt::format("{:.3f} ms", microseconds * 1e-3);
  return fmt::format("{:.3f} s", microseconds * 1e-6);
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace tunebook
