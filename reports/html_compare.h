#pragma once

#include <string>

#include "reports/html_parts.h"
#include "reports/report.h"

namespace tunebook::reports::page {

// The page of a comparison with as much of its data as `detail` says.
std::string comparison_page(const Comparison& comparison, const Detail& detail);

}  // namespace tunebook::reports::page
