#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sweep/lane.h"
#include "sweep/state.h"
#include "sweep/summary.h"

namespace tunebook {

struct SweepOptions {
  std::filesystem::path program;        // tunebook, which runs the sessions
  std::filesystem::path book;
  SweepFiles files;                     // the state, the status and the compile slots are written here
  std::optional<double> time_left_s;    // until the deadline; from here on a steady clock counts
  int cores = 1;                        // compiles at once, of all sessions together
  double silent_s = 1800;               // a session that reports nothing for longer, and for longer than its own limits allow, hangs: it is killed
  std::function<bool()> stop;           // asked several times a second: Ctrl-C
  std::string resume_command;           // for the status file
  // Called at the end, before the state says that the sweep has ended: after a crash in between the same command comes here again.
  std::function<void(SweepEnd)> conclude;
};

struct SweepObserver {
  std::function<void(const std::string&)> event;  // a line for a log: a session began or ended, a device is gone
  std::function<void(const std::string&)> live;   // how far it is, several times a second
};

// Runs what is left of a sweep: on each lane one session at a time, each a process of its own, the most worth its time first, within the
// time that is left. `state` is kept up to date and saved as sessions end. A session that crashes or hangs is tried again a few times; a device
// whose sessions cannot open it is given up, and the rest goes on. Throws EnvironmentError if the compile slots cannot be made.
SweepEnd run_sweep(SweepState& state, const std::vector<LanePlan>& lanes, const SweepOptions& options, const SweepObserver& observer);

// "42 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace tunebook
