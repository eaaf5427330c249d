#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "sweep/plan.h"
#include "sweep/prepare.h"
#include "sweep/shard_task.h"

namespace tunebook::cli {

// The options of `sweep` with which it runs in parts, on a cluster or by hand.
struct SlurmOptions {
  bool slurm = false;                  // submit
  std::string folder;
  std::size_t shards = 4;
  std::vector<std::string> options;    // for sbatch
  int retries = 2;
  double snapshot_every_s = 300;
  bool into_book = false;
  std::string frozen;                  // of a task or the merge: the frozen plan
  int shard = -1;                      // a task
  bool merge = false;
};

void add_slurm_options(CLI::App& verb, SlurmOptions& options);

// `sweep PLAN --slurm`: freezes the plan into the folder and submits it; with `dry_run` prints scripts and commands, and writes nothing. A
// folder in which it was submitted before: submits what is not complete.
int submit_sweep(const SlurmOptions& options, const SweepPlan& plan, const PrepareOptions& prepare_options,
                 const std::vector<std::string>& task_arguments, bool dry_run, bool json);

// `sweep --frozen FILE --shard I`, an array job's task. `run` runs the shard's items on a book: see run_shard_task(). Its plan holds only
// these items.
using RunShard = std::function<ShardEnd(const FrozenPlan& items, const std::filesystem::path& book, const std::function<bool()>& stop)>;
int run_sweep_shard(const SlurmOptions& options, bool json, const RunShard& run);

// `sweep --frozen FILE --merge`. `book`: --book; what the merged book is added to, if --slurm-into-book was given.
int run_sweep_merge(const SlurmOptions& options, const std::string& book, bool json);

}  // namespace tunebook::cli
