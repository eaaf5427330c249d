#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "sweep/state.h"

namespace tunebook {

// What a running session last said of itself.
struct LaneProgress {
  std::string step;  // "template", "device", "presets", "search", "finalists", ...
  std::int64_t done = 0, total = 0;
  std::optional<double> best_us;
  // A line of --progress-fd; what does not fit is left as it is.
  void take(const nlohmann::json& line);
  std::string text() const;  // "search 13/40"
};

struct LaneStatus {
  std::string name, state;   // "running", "idle", "out"
  std::string item;          // while running
  LaneProgress progress;
  double seconds = 0;        // since its session began
};

// What a sweep is doing, for whoever watches it: a file beside the book, written anew every few seconds. Its "heartbeat_utc" tells a
// sweep that stands still from one that works.
struct SweepStatus {
  std::string_view ended;    // "" while it runs, else how it ended (sweep_end_name())
  double remaining_s = 0;
  std::string resume_command;
  std::vector<LaneStatus> lanes;

  nlohmann::ordered_json to_json(const SweepState& state, double now) const;
  void save(const SweepState& state, const std::filesystem::path& file) const;  // throws EnvironmentError
};

// Seconds since 1970 as the book has times: "2026-11-30T22:00:00.000000Z".
std::string utc_text(double seconds);

}  // namespace tunebook
