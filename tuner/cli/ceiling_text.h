#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/ceiling.h"

namespace tunebook::cli {

// What summaries say about a time and the ceiling that binds it.
struct CeilingText {
  // {"binds": "copy", "percent": 92.0, "rate": 4265.0, "unit": "GB/s", "floor_us": 63.0}; null if no ceiling is known.
  nlohmann::ordered_json json = nullptr;
  // Behind the arithmetic or the bandwidth, whichever binds: ", 92 % of what a copy of this size reaches".
  std::string arithmetic, bandwidth;
};
CeilingText ceiling_text(const std::vector<Ceiling>& ceilings, const Workload& work, const std::string& method, double time_us);

// One line on stderr, if the book holds no ceilings of this method: how to get them. `device`: "cuda", "cpu".
void hint_at_calibration(const std::vector<Ceiling>& ceilings, const std::string& method, const std::string& device);

}  // namespace tunebook::cli
