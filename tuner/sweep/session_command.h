#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sweep/item.h"

namespace tunebook {

// What a sweep adds to an item's own settings when it runs its session.
struct SessionTerms {
  std::filesystem::path program;         // tunebook
  std::filesystem::path book;
  std::string device;                    // where it runs: the item's, or one of those that "cuda" stands for
  bool retime = false;
  bool remeasure = false;
  std::optional<double> time_limit_s;
  int compile_workers = 0;               // 0: as the session chooses
};

// The argument vector of the item's session: what a user would type to have it run alone, with --json.
std::vector<std::string> session_command(const SweepItem& item, const SessionTerms& terms);

}  // namespace tunebook
