#include "reports/html_table.h"

#include <cmath>

#include <fmt/format.h>

#include "reports/html_text.h"

namespace tunebook::reports::page {
namespace {

std::string attribute(std::string_view name, std::string_view value) {
  return value.empty() ? std::string() : fmt::format(" {}=\"{}\"", name, value);
}

std::string joined(std::string_view x, std::string_view y) {
  return std::string(x) + (x.empty() || y.empty() ? "" : " ") + std::string(y);
}

}  // namespace

Table::Table(std::string_view caption, const std::vector<Column>& columns, const Options& options) {
  // A region that scrolls must be reachable by keyboard, and then needs a name.
  html_ = fmt::format("<div class=\"scroll{}\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table{}{}><caption{}>{}</caption><thead><tr>",
                      options.tall ? " tall" : "", escape(caption), attribute("class", options.classes),
                      attribute("data-find", escape(options.find)), options.hide_caption ? " class=\"hide\"" : "", escape(caption));
  for (const Column& column : columns) {
    html_ += fmt::format("<th scope=\"col\"{}>{}</th>", attribute("class", column.classes), column.title);
    classes_.emplace_back(column.classes);
  }
  html_ += "</tr></thead><tbody>\n";
}

// The end tags of rows and cells may be left out (HTML, "optional tags"); over thousands of trials that is a good part of a page.
void Table::row(std::string_view classes) {
  html_ += fmt::format("{}<tr{}>", rows_ == 0 ? "" : "\n", attribute("class", classes));
  column_ = 0;
  ++rows_;
}

void Table::cell(std::string_view html, std::optional<double> sort, std::string_view classes) {
  const std::string all_classes = joined(column_ < classes_.size() ? std::string_view(classes_[column_]) : "", classes);
  const std::string value = !sort ? "" : std::isnan(*sort) ? " data-v=\"\"" : fmt::format(" data-v=\"{:.7g}\"", *sort);
  if (column_ == 0) html_ += fmt::format("<th scope=\"row\"{}{}>{}", attribute("class", all_classes), value, html);
  else html_ += fmt::format("<td{}{}>{}", attribute("class", all_classes), value, html);
  ++column_;
}

std::string Table::finish() && { return std::move(html_) + "</tbody></table></div>\n"; }

}  // namespace tunebook::reports::page
