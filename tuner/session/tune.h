#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/objective.h"
#include "core/ceiling.h"
#include "core/template_folder.h"
#include "db/store.h"
#include "search/space.h"
#include "search/strategy.h"
#include "session/executor.h"

namespace tunebook {

// Up to so many configurations of a space that are expected to be the fastest there, in the order
// of trying. It is asked once, when a session begins; the session keeps what it said.
using Adviser =
    std::function<std::vector<Configuration>(const SearchSpace& space, std::size_t count)>;

struct TuneOptions {
  std::string strategy = "auto";
  Budget budget;
  std::uint64_t seed = 0;
  std::vector<std::string> where;
  // What the book predicts and winners of other problems and devices are tried first.
  bool from_book = true;
  // So many predicted ones, and no winners as long as there are predictions; 0: predicted_trials()
  // of the budget, mixed with winners. If nothing remains of a budget in trials, the session is a
  // short one: `default` is its only preset.
  std::uint64_t predicted = 0;
  Adviser adviser;               // none: nothing is predicted
  bool foresight = true;         // configurations are compiled ahead of being proposed, where device and strategy can make use of it
  bool remeasure = false;
  bool sanitize = false;         // the finalists, where the device has a sanitizer
  int finalists = 8;             // with those as near as kFinalistNear more; 0: the winner is the best of the first pass
  int finalist_processes = 5;
  bool baseline = true;          // timed with the finalists, where the subject has one
  Objective objective = Objective::time;
  bool energy = false;           // of the finalists; with that objective, of every trial
  // A time-out in the book that gave a trial less time than this is no answer.
  double run_timeout_s = 0;
  double compile_timeout_s = 0;
  bool stop_requested() const { return stop && stop(); }
  // Of the device, from the book. A trial or finalist faster than those of the session's method allow is wrong_result.
  std::vector<Ceiling> ceilings;
  std::function<bool()> stop;    // asked between events: Ctrl-C
  // Seconds from the start of the program; 0: none. Then the search stops, early enough for the finalists. Not part of the session's
  // identity: a session cut so is taken up again by the same command, and its finalists are stored as a session of their own.
  double time_limit_s = 0;
  // Only the standing winner, and the preset `default` beside it, are verified and timed anew. The winner is the standing one unless the
  // other is faster beyond the tie set.
  bool retime = false;
  // When the sweep began that the session is part of (ISO 8601, UTC), or "". What ended since then is its own work: the answer, also to
  // `remeasure` and `retime`. Winners of other devices are tried first only if they stood before it, so that a session does not depend on
  // how far the sweep's other devices are.
  std::string sweep_start_utc;
};

// What the session works on, from a template or a recording.
struct TuneSubject {
  std::string kernel;
  std::string kernel_hash;
  nlohmann::ordered_json kernel_spec;
  Problem problem;
  std::vector<std::pair<std::string, Configuration>> presets;
  std::optional<double> flops, bytes;   // work of one launch
  bool has_baseline = false;            // for this problem
};

struct PresetResult {
  std::string name;
  TrialRecord trial;
};

// Where the wall time of this run went, in seconds.
struct TuneClock {
  double start = 0;         // from the start of the program to the first proposal
  double first_pass = 0;    // from the first proposal to the last first-pass trial
  double finalists = 0;
  double compile = 0;       // sums over trials
  double verify = 0;
  double time = 0;
  double idle = 0;          // of the device, between its first and its last first-pass trial
};

struct TuneResult {
  std::string session_id;
  std::map<Outcome, std::int64_t> outcomes;
  std::int64_t measured = 0;             // trials run now; the others were in the book
  std::int64_t proposals = 0;            // by the strategy: what the budget counts
  std::int64_t from_book_trials =
      0;  // of them, predicted ones and winners of other problems and devices
  std::int64_t predicted_trials = 0;           // of these, the predicted ones
  std::optional<double> ended_at_improvement;  // --budget auto ended the search at this expected improvement, a share
  std::optional<WinnerRecord> winner;    // none if nothing passed
  std::optional<BaselineRecord> baseline;  // if one was asked for and there were finalists
  std::int64_t winner_verified_problems = 0;  // 1: on the tuned problem alone, its constraints exclude every other; 0: replay
  std::int64_t winner_skipped_problems = 0;   // verify problems that its constraints or the launch limits exclude
  std::vector<PresetResult> presets;
  std::map<std::string, std::int64_t> failure_messages;  // "compile_error: ..." -> count
  TuneClock clock;
  std::vector<SanitizerVerdict> sanitized;  // of the finalists, and of those that it kept from being some
  SanitizerChoice sanitizer;             // asked for: which, or why there is none
  bool interrupted = false;
  bool from_book = false;                // a finished session of equal identity was the answer
  bool cut = false;                      // the time limit ended the search; the session is unfinished, the winner in another one
  bool no_standing_winner = false;       // retime: there is none, nothing was run
  std::optional<WinnerRecord> previous;  // what the book had before for kernel (of any hash), problem, device, method and objective
};

// What a session tells while it runs. All optional.
struct TuneObserver {
  struct Progress {
    std::int64_t done = 0, total = 0;        // first-pass trials, presets included
    std::int64_t failed = 0;
    std::optional<double> best_us;
    std::optional<double> remaining_seconds;
    std::string step;                        // "presets", "search", "sanitizer", "finalists"
  };
  std::function<void(const Progress&)> progress;
  std::function<void(const TrialRecord&)> trial;
  std::function<void(const std::string& session_id)> opened;
  std::function<void(int process)> waiting;    // for this process, which runs the same session (0: on another machine)
};

// One session: presets and the standing winner, then the strategy's proposals within the budget, then finalists. Every
// finished trial is in the book before the next event is served. `process_start` is for TuneClock::start.
TuneResult tune(const TuneSubject& subject, const SearchSpace& space, const TuneOptions& options, Executor& executor,
                Store& store, const TuneObserver& observer, std::chrono::steady_clock::time_point process_start);

}  // namespace tunebook
