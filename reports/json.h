#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "reports/report.h"

namespace tunebook::reports {

// Of "tunebook_report" in what to_json() gives: raised when a field changes its meaning or goes. New fields do not raise it.
inline constexpr int kReportJsonVersion = 1;

// What a report or a comparison holds, as reports/report.schema.json says: the numbers in full, times in us. What is not known is null.
nlohmann::ordered_json to_json(const Report& report);
nlohmann::ordered_json to_json(const Comparison& comparison);

// One object on one line, with its end of line.
std::string json_line(const nlohmann::ordered_json& json);

}  // namespace tunebook::reports
