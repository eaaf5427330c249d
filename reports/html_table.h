#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tunebook::reports::page {

struct Column {
  std::string_view title;         // HTML
  std::string_view classes = "";  // "n": a number; "text": wraps; "plot": a picture (page.css)
};

// A table written from left to right, top to bottom. Its first column holds the rows' headers. All `html` is taken as it is: texts of a
// book are to be escaped before.
class Table {
 public:
  struct Options {
    std::string_view classes = "";  // "sort": its columns can be sorted (page.js)
    std::string_view find = "";     // label of a field that filters its rows; "": none
    bool tall = false;              // scrolls by itself if it is long
    bool hide_caption = false;      // for readers who see the heading above it
  };
  // `caption` is plain text and must say what the rows are.
  Table(std::string_view caption, const std::vector<Column>& columns, const Options& options);
  Table(std::string_view caption, const std::vector<Column>& columns) : Table(caption, columns, Options()) {}

  void row(std::string_view classes = "");
  // The next cell; its classes are those of its column and `classes`. `sort` is the number by which it is sorted, where its text is not
  // that number; NaN: last.
  void cell(std::string_view html, std::optional<double> sort = std::nullopt, std::string_view classes = "");
  std::size_t rows() const { return rows_; }

  std::string finish() &&;

 private:
  std::string html_;
  std::vector<std::string> classes_;  // of the columns
  std::size_t column_ = 0;
  std::size_t rows_ = 0;
};

}  // namespace tunebook::reports::page
