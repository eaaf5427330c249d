#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "sweep/plan.h"
#include "sweep/shard_task.h"

namespace tunebook::cli {

struct SweepRunOptions {
  std::string book, status, summary;     // paths; "": the default book, files beside it
  std::vector<std::string> on_finish;    // argument vector, run at the end with the summary's path as one more argument
  bool restart = false;                  // forget a sweep that was interrupted
  bool ask_devices = true;
  bool json = false;
};

// Runs the plan, or goes on with the sweep of it that was interrupted. Returns the exit code.
int run_plan(SweepPlan plan, const SweepRunOptions& options, const Invocation& invocation);

// Runs a part of a frozen plan on a book of its own, with its state beside that. Decides anew about each item, by the devices that are here
// and by what the book has got since the plan was frozen: a part that was interrupted is gone on with.
ShardEnd run_part(const FrozenPlan& part, const std::filesystem::path& book, const std::function<bool()>& stop);

// What follows --on-finish on the command line of `sweep` is another program's command line, whatever it looks like, and not to be parsed.
struct OnFinishSplit {
  int words = 0;                      // of the command line, that are to be parsed
  std::vector<std::string> command;
};
OnFinishSplit split_on_finish(int argc, char** argv);

}  // namespace tunebook::cli
