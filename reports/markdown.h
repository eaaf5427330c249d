#pragma once

#include <string>
#include <string_view>

#include "reports/report.h"

namespace tunebook::reports {

// For a pull request or a job summary (GitHub's dialect): the verdict or the summary, tables, failures, and how to reproduce. Nothing of a
// book is read as markup.
std::string to_markdown(const Report& report);
std::string to_markdown(const Comparison& comparison);

// Text of a book as plain text in Markdown, also in a cell of a table: on one line, cut to `bytes`, with all that could be markup escaped.
std::string markdown_text(std::string_view text, std::size_t bytes);
// The same as a code span.
std::string markdown_code(std::string_view text, std::size_t bytes);

}  // namespace tunebook::reports
