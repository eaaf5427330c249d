#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tunebook::reports::page {

// A page in one file that loads nothing: its style and script stand in it, and its Content-Security-Policy allows these two by their
// hashes and nothing else, so that no text of a book could be executed even if it were not escaped.
class Page {
 public:
  // `title` is plain text, `subtitle` HTML.
  Page(std::string_view title, std::string_view subtitle);

  // Opens a section with a heading (plain text) that the page's navigation leads to; the one before is closed.
  void section(std::string_view id, std::string_view heading);
  // HTML into the current section, or before the first one.
  void add(std::string_view html) { body_ += html; }
  std::size_t size() const { return body_.size(); }

  // `footer` is HTML.
  std::string finish(std::string_view footer) &&;

 private:
  std::string title_, subtitle_, body_;
  std::vector<std::pair<std::string, std::string>> sections_;  // id, heading
};

// The style and the script as they stand in every page.
std::string_view page_style();
std::string_view page_script();

// A box with a heading of level 3, in a section, or 4, in an item; a `wide` one has a row of boxes for itself.
std::string card(int level, std::string_view heading, std::string_view html, bool wide = false);
// A picture, its heading (of level 4), a line under that, and the table behind it, closed. `caption` is HTML.
std::string figure_card(std::string_view heading, std::string_view caption, std::string_view picture, std::string_view table);

}  // namespace tunebook::reports::page
