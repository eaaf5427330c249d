#pragma once

#include <cstddef>
#include <string>

#include "reports/report.h"

namespace tunebook::reports {

// A page is made with less detail (fewer trials drawn, fewer items with their pictures) until it is below this, in bytes.
inline constexpr std::size_t kMostHtmlBytes = 1'900'000;

// One self-contained page: it loads nothing, works without its script, follows light, dark and print, and every picture has a table.
std::string html(const Report& report);
std::string html(const Comparison& comparison);

}  // namespace tunebook::reports
