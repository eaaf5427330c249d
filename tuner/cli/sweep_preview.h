#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "sweep/plan.h"
#include "sweep/prepare.h"

namespace tunebook::cli {

// What `sweep --dry-run` shows: every session with what would be done and why, and what it is expected to take.
struct SweepPreview {
  const SweepPlan& plan;
  const PreparedPlan& prepared;
  std::string book;
  double now = 0;                  // seconds since 1970
  std::optional<double> deadline;  // seconds since 1970
};

nlohmann::ordered_json to_json(const SweepPreview& preview);
void print(const SweepPreview& preview);

}  // namespace tunebook::cli
