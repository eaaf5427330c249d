#include "core/text_table.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

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

// The narrowest that a column is made so that a table fits.
constexpr std::size_t kLeastWidth = 24;

// The text in pieces of at most `width` columns, cut after a comma or a space where a piece has one.
std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  std::vector<std::string> pieces;
  std::string rest = text;
  while (display_width(rest) > width) {
    std::size_t end = 0, column = 0, separator = 0;  // bytes; columns before `end`; the byte behind the last separator
    while (column < width || (static_cast<unsigned char>(rest[end]) & 0xC0) == 0x80) {
      if ((static_cast<unsigned char>(rest[end]) & 0xC0) != 0x80) ++column;
      if (rest[end] == ',' || rest[end] == ' ') separator = end + 1;
      ++end;
    }
    const std::size_t cut = separator > 0 ? separator : end;
    pieces.push_back(rest.substr(0, cut));
    rest.erase(0, std::min(rest.find_first_not_of(' ', cut), rest.size()));
  }
  if (!rest.empty() || pieces.empty()) pieces.push_back(rest);
  return pieces;
}

std::size_t total_width(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), widths.empty() ? 0 : 2 * (widths.size() - 1));
}

}  // namespace

std::string TextTable::to_text(std::size_t columns) const {
  std::vector<std::size_t> widths(header.size(), 0);
  const auto measure = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], display_width(cells[i]));
  };
  measure(header);
  for (const auto& row : rows) measure(row);
  while (columns > 0 && total_width(widths) > columns) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool narrows = (i >= right.size() || !right[i]) && widths[i] > kLeastWidth;
      if (narrows && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == widths.size()) break;
    --widths[widest];
  }

  std::string text;
  const auto add = [&](const std::vector<std::string>& cells) {
    std::vector<std::vector<std::string>> pieces;
    std::size_t lines = 1;
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i) {
      // A cell with colours is short: it is not taken apart.
      const bool whole = display_width(cells[i]) <= widths[i] || cells[i].find('\x1b') != std::string::npos;
      pieces.push_back(whole ? std::vector<std::string>{cells[i]} : wrap(cells[i], widths[i]));
      lines = std::max(lines, pieces.back().size());
    }
    for (std::size_t at = 0; at < lines; ++at) {
      std::string line;
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        const std::string cell = at < pieces[i].size() ? pieces[i][at] : "";
        const std::string space(widths[i] - std::min(widths[i], display_width(cell)), ' ');
        if (i > 0) line += "  ";
        line += i < right.size() && right[i] ? space + cell : cell + space;
      }
      text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
  };
  add(header);
  text += std::string(total_width(widths), '-') + '\n';
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
