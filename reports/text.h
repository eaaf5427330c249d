#pragma once

#include <string>

#include "reports/report.h"

namespace tunebook::reports {

// For a terminal: what matters in a few lines and a table. `colour`: with escape sequences. Texts of the book are shown on one line each
// and cut.
std::string to_text(const Report& report, bool colour);
std::string to_text(const Comparison& comparison, bool colour);

}  // namespace tunebook::reports
