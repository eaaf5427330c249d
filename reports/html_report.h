#pragma once

#include <string>

#include "reports/html_parts.h"
#include "reports/report.h"

namespace tunebook::reports::page {

// The page of a report with as much of its data as `detail` says.
std::string report_page(const Report& report, const Detail& detail);

}  // namespace tunebook::reports::page
