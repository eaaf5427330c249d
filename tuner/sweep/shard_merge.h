#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/merge.h"
#include "sweep/night_comparison.h"
#include "sweep/plan.h"
#include "sweep/shard_task.h"
#include "sweep/snapshot.h"

namespace tunebook {

// What the merge found of one shard.
struct ShardReport {
  std::size_t shard = 0;
  std::optional<Snapshot> snapshot;      // the newest that is whole
  std::vector<std::string> refused;      // newer ones that are not
  std::size_t items = 0, finished = 0;   // what it was to do; those that have a finished session in the merged book

  bool complete() const { return snapshot && snapshot->complete; }
  int exit_code() const;                 // of a complete one, that of its work; else 1
};

struct SweepMerge {
  std::vector<ShardReport> shards;
  std::vector<std::size_t> missing;      // items of the plan that no session was finished for since it was frozen
  MergeCounts added;                     // to what the sweep began with
  std::int64_t sessions = 0, trials = 0; // in the merged book
  std::filesystem::path book;            // where it lies
  std::vector<NightComparison> comparisons;  // of what all complete shards measured, judged together
  int exit_code = 0;                     // 0; 1: something is missing or failed; 3: else, if a winner is slower than the one before

  nlohmann::ordered_json to_json(const FrozenPlan& plan) const;
};

// Puts together the base and the newest snapshot of every shard, on local disk, and leaves the book as merged.db in the sweep's folder
// (closed, renamed into place: an older one is replaced). May be repeated, and done while tasks still run: it is then what they have left
// so far. Throws InputError or EnvironmentError; merged.db is then what it was.
SweepMerge merge_sweep(const SweepFolder& folder, const FrozenPlan& plan, const std::function<void(const std::string&)>& message);

}  // namespace tunebook
