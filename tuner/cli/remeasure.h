#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "reports/comparison.h"

namespace tunebook::cli {

// How `compare --remeasure` times winners again.
struct RemeasureOptions {
  bool remeasure = false;
  std::string device;                 // cuda:N or cpu; "": for each item the first of its kind
  std::vector<std::string> templates;
  int processes = 10;
  double run_timeout_s = 10, compile_timeout_s = 60;
};

// --remeasure and what goes with it: --remeasure-device, --remeasure-processes, --templates, --run-timeout.
void add_remeasure_options(CLI::App& verb, RemeasureOptions& options);

// The clock of "cold/2@1500MHz"; 0: not locked.
int locked_clock_mhz(const std::string& method);

struct Remeasured {
  std::vector<reports::Remeasurement> pairs;
  std::vector<std::string> notes;     // what was not timed again, and why
  bool interrupted = false;
};

// Times the winners of all pairs of items again on the device at hand, both of a pair in the same fresh processes, after proving them
// right; neither book is written. A session that stands on both sides is left out. Left out, with a note, are items of other devices or of recordings, and those whose kernel has
// changed since (unless `settings` allow a different kernel: then the source at hand is timed for both). Throws InputError if a pair could
// be timed again, but none was.
Remeasured remeasure_winners(const reports::Report& base, const reports::Report& candidate, const reports::ComparisonSettings& settings,
                             const RemeasureOptions& options);

}  // namespace tunebook::cli
