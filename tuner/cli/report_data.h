#pragma once

#include <chrono>
#include <string>

#include "cli/report_sessions.h"
#include "reports/report.h"

namespace tunebook::cli {

struct ReportContext {
  std::string command;   // that was given, quoted for a shell
  std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
  reports::Limits limits;
};

// All that a report says about one side, read from its book, which is not changed. Throws InputError as parse_side(), SessionSelection and
// History do.
reports::Report read_report(const SideRequest& side, const ReportContext& context);

}  // namespace tunebook::cli
