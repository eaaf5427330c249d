#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sweep/cover_region.h"
#include "sweep/decision.h"
#include "sweep/item.h"

namespace tunebook {

// The time that a sweep has, as a plan or the command line says it.
struct TimeLimit {
  std::optional<double> seconds;          // "8h", "90m", "30s", from the start of the sweep
  std::optional<int> until_minute;        // "06:00": minutes after midnight, local time; the next such time
  bool empty() const { return !seconds && !until_minute; }
  // Throws InputError naming `what` ("--time").
  static TimeLimit parse_time(const std::string& text, const std::string& what);    // 30s, 90m, 7m30s, 8h, 1.5h; at most a week
  static TimeLimit parse_until(const std::string& text, const std::string& what);   // HH:MM
  // The moment when the sweep must have ended (seconds since 1970), the earlier of both; empty if there is no limit. `start`: when the
  // sweep began. "06:00" is the first such moment after `start`, by the local time zone with its changes between summer and winter.
  std::optional<double> deadline(double start) const;
  friend bool operator==(const TimeLimit&, const TimeLimit&) = default;
};

// A plan, read and expanded: every session that it asks for, each once, in the plan's order.
struct SweepPlan {
  std::string file;                       // as given, for messages
  std::string name;                       // "name", else the file's stem
  TimeLimit time;                         // "time", "until": the whole night's
  std::vector<std::string> templates;     // absolute folders: of the plan, then of the command line
  std::vector<SweepItem> items;
  std::vector<CoverRegion> regions;       // whose shapes the sweep chooses, after all items
  std::size_t duplicates = 0;             // left out because an earlier item is the same
  std::vector<std::string> notes;         // what the user should know: misses that were for other kernels, ...

  // Of the items' and regions' identities in order: equal hash, equal work. 32 hex digits.
  std::string hash() const;
};

struct PlanSources {
  std::vector<std::string> templates;     // of the command line; the search path goes on with $TUNEBOOK_TEMPLATES and the installed ones
};

// Reads PLAN.json (plan_schema.json; comments allowed) and the files that it names, relative to its own folder. Throws InputError that
// lists every problem found, one per line: "FILE: /sessions/0/shapes/2: found ..., expected ...". Names the nearest valid key or kernel.
// Limits: kMaxItems sessions, kMaxRange values in a range.
inline constexpr std::size_t kMaxItems = 100'000;
inline constexpr std::size_t kMaxRange = 10'000;
SweepPlan read_plan(const std::filesystem::path& file, const PlanSources& sources);
// The same of a text; `file` names it in messages and its folder is what paths are relative to.
SweepPlan parse_plan(const std::string& text, const std::filesystem::path& file, const PlanSources& sources);

// A plan with what was decided and expected, fixed once: what an array job's tasks read.
struct FrozenItem {
  SweepItem item;
  Decision decision;
  Estimate estimate;
  NightNoise noise;
  friend bool operator==(const FrozenItem&, const FrozenItem&) = default;
};
struct FrozenPlan {
  std::string plan_hash;                  // SweepPlan::hash()
  std::string name;
  double frozen_at = 0;                   // seconds since 1970: what was finished later is this sweep's own
  TimeLimit time;
  std::vector<FrozenItem> items;          // in the plan's order; fresh ones too
  // Indices into `items`, balanced by expected seconds: each item that is not fresh in exactly one shard, in the order of work.
  std::vector<std::vector<std::size_t>> shards;

  nlohmann::ordered_json to_json() const;
  // Throws InputError: what is not such a file, an item that is in two shards or in none, an item whose id does not fit.
  static FrozenPlan from_json(const nlohmann::ordered_json& json, const std::string& where);
  static FrozenPlan load(const std::filesystem::path& file);
  // Written beside it and renamed into place. Throws EnvironmentError if that fails.
  void save(const std::filesystem::path& file) const;
  friend bool operator==(const FrozenPlan&, const FrozenPlan&) = default;
};

// Divides work of the given seconds into `shards` parts (some may be empty): the longest first, each to the part that has least so far
// (ties: the lower index), R. L. Graham's LPT rule, at most 4/3 - 1/(3n) of the best possible longest part (SIAM J. Appl. Math. 17, 1969).
// The indices of each part ascend. The same for the same input.
std::vector<std::vector<std::size_t>> balanced_partition(const std::vector<double>& seconds, std::size_t shards);

}  // namespace tunebook
