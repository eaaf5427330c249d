#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/baseline.h"
#include "core/ceiling.h"
#include "core/device.h"
#include "core/outcome.h"
#include "core/problem.h"

// What a report holds, ready to be written as HTML, JSON, Markdown or terminal text. The writers compute nothing but layout: every
// number is filled in before, so that all of them show the same.
//
// All text is valid UTF-8 (bytes of a book that are none were replaced by U+FFFD) but otherwise as the book has it: it may hold
// control characters, markup and right-to-left text, and each writer escapes for its own format. Times are microseconds unless the
// name says otherwise, instants are ISO 8601 in UTC, rates GFLOP/s (10^9 operations a second) and GB/s (10^9 bytes a second).
namespace tunebook::reports {

struct Labelled {
  std::string label, value;
  friend bool operator==(const Labelled&, const Labelled&) = default;
};

// A median with its confidence interval.
struct TimeEstimate {
  double median_us = 0, low_us = 0, high_us = 0;
  // With which probability the interval holds the true median: 0.95 or more, and less where it was made from fewer than six values
  // (median_interval_coverage() in core/statistics.h); 0: of one value. Nothing if it is not known how many they were.
  std::optional<double> coverage = std::nullopt;
};

// Labels of Side::environment. A comparison that is to be a gate wants the same values on both sides; other labels ("host", ...) are
// for reading only.
inline constexpr std::string_view kGpuLabel = "GPU";            // the device's name; for cpu the processor
inline constexpr std::string_view kDriverLabel = "driver";
inline constexpr std::string_view kToolkitLabel = "toolkit";    // NVRTC, or the host compiler
inline constexpr std::string_view kClocksLabel = "clocks";      // "not locked", "locked at 1500 MHz"

// What a session did, as its strategy says.
enum class SessionKind {
  search,
  retime,     // the standing winner and the preset `default` were verified and timed anew
  finalists,  // the best trials of a search that was cut short were timed as finalists
};
SessionKind session_kind(std::string_view strategy);
std::string_view session_kind_name(SessionKind kind);   // "search", "retime", "finalists"
std::string_view session_kind_words(SessionKind kind);  // in a sentence; "" of a search
std::string_view session_kind_short(SessionKind kind);  // in a cell of a table; "" of a search

// One session as lists show it.
struct SessionInfo {
  std::string id;               // 32 hex digits
  std::string kernel, kernel_hash;
  Problem problem;
  std::string device;           // name
  std::string method;           // "cold/2"
  std::string objective;        // of its winner; "" without one
  std::string strategy, budget;
  std::uint64_t seed = 0;
  std::vector<std::string> where;
  std::string toolchain;
  std::string started_utc, finished_utc;  // finished_utc "": not finished
  double wall_seconds = 0;
  std::int64_t trials = 0;
};

// What a report was read from.
struct Side {
  std::string label;            // as the user named it: "book.db#date=2026-11-29"
  std::string book;             // path
  std::int64_t book_version = 0;
  bool published = false;       // a published book: winners, no trials
  std::vector<Labelled> filter;       // what narrowed it: {"kernel", "matmul"}; in the order given
  // In a fixed order: the labels above first. Values that differ between the sessions are joined with ", ".
  std::vector<Labelled> environment;
  std::vector<SessionInfo> sessions;  // newest first, at most Limits::sessions
  std::int64_t session_count = 0;     // all of them
  std::string first_utc, last_utc;    // earliest start, latest end; "" if there is no session
};

// What is compared with what: two items with equal keys are the same work on the same device, measured the same way.
struct ItemKey {
  std::string kernel;
  Problem problem;              // in the kernel's declared order
  std::string device;           // name
  std::string device_key;       // Device::key(): what must be equal
  std::string device_kind;      // "cuda", "cpu", "replay": times of the last two are no GPU times, and what is shown says so
  std::string method;           // "cold/2"
  std::string objective;        // "time", "energy"
  std::string shape() const { return problem.display(); }
};

// Rates of one time, where the kernel's work is known and there is some: a kernel that declares 0 operations has no GFLOP/s.
struct Rates {
  std::optional<double> gflops, gbps;
  std::optional<double> percent_of_ceiling;   // of Item::ceiling
  std::optional<double> percent_of_baseline;  // 100 * baseline's time / this time: over 100 is faster than the baseline
};

// A configuration with all that is known of it: a finalist, or one of the fastest of the first pass.
struct ConfigurationRow {
  Configuration configuration;  // in declared order
  std::string origin;           // "preset:NAME", "standing_winner", "predicted", "from_book", "strategy"; "" if not known
  std::int64_t evaluation = 0;  // its place in the session, from 1; 0: not known
  bool winner = false, finalist = false, in_tie_set = false;
  std::optional<TimeEstimate> first_pass;     // of the search
  std::optional<TimeEstimate> time;           // finalists: over their processes; others: first_pass
  std::vector<double> process_medians_us;     // finalists: one for each fresh process
  Resources resources;                        // -1: not known
  Rates rates;                                // of `time`
  std::optional<double> energy_j;             // of one launch
  std::optional<double> sm_clock_mhz;         // while timing
  std::string sanitizer;                      // "": not run; "clean"; else what was found
  std::int64_t verified_problems = 0;
};

struct BaselineResult {
  std::string operation;        // "gemm"
  BaselineState state = BaselineState::ok;
  std::string name;             // "cuBLAS 13.0.2"; "" if not known
  std::string message;          // which algorithm; else what went wrong
  std::optional<TimeEstimate> time;
  std::vector<double> process_medians_us;
  std::optional<double> ratio;  // baseline's time / winner's: over 1, the winner is faster
  std::optional<std::pair<double, double>> ratio_interval;  // 95 %
};

// A preset, or the winner, beside the one before it.
struct LadderRung {
  std::string name;             // of the preset; "winner"
  bool winner = false;
  Configuration configuration;
  Outcome outcome = Outcome::ok;
  std::string message;          // of a failure
  std::optional<TimeEstimate> time;
  Rates rates;
  std::optional<double> gain;         // time of the last rung before it that has one, over this one's
  std::optional<double> gain_in_all;  // of the first that has one
};

// One trial of the scatter plot, or several failures binned.
struct TrialPoint {
  std::int64_t evaluation = 0;  // place in the session, from 1 (of a bin: the first)
  std::int64_t count = 1;       // failures that this point stands for; always 1 with a time
  Outcome outcome = Outcome::ok;
  std::optional<double> time_us;   // ok and abandoned
  std::string origin;
  Configuration configuration;  // of a bin: of its first
  std::string message;          // of a failure, cut to Limits::message_bytes
};

// The best time so far after `evaluation` trials (failures count); a step function that changes at these points.
struct BestSoFar {
  std::int64_t evaluation = 0;
  double time_us = 0;
  std::string configuration;    // display()
};
// The mean best time of `evaluation` trials drawn at random, without replacement, from those of the session; exact, not simulated. Where
// draws may all be failures: given that one is not.
struct RandomExpectation {
  std::int64_t evaluation = 0;
  double time_us = 0;
};

// What the trials that have one value of a parameter reached.
struct EffectValue {
  std::string value;
  std::int64_t trials = 0;      // all, failures included
  std::int64_t timed = 0;       // with a time
  std::optional<double> best_us, median_us;
};
struct ParameterEffect {
  std::string parameter;
  std::vector<EffectValue> values;  // in declared order
  // Largest over smallest of the values' best times: 1 = it does not matter for the best. Nothing with fewer than two values timed.
  std::optional<double> spread_of_best;
};

// Failures whose messages agree but for numbers.
struct FailureGroup {
  Outcome outcome = Outcome::compile_error;
  std::string message;          // of its first, cut to Limits::message_bytes; may have several lines
  std::int64_t count = 0;
  std::int64_t first_evaluation = 0;  // 0 in the group of a whole report
  std::string configuration;    // display() of its first
};

// Where the time went, in seconds. Compiling runs in several processes at once, so that its sum may exceed the wall time.
struct Cost {
  double compile_seconds = 0, verify_seconds = 0, time_seconds = 0;  // sums over trials run in these sessions (not reused ones)
  double idle_seconds = 0;      // of the device between the first and the last trial, from the instants at which trials were recorded
  double wall_seconds = 0;      // of the sessions; what is left of it: starting, finalists, and what they wait for
  std::int64_t measured = 0;    // trials run
  std::int64_t reused = 0;      // trials answered by the book
};

// The winner of one night: of the last finished session of a date.
struct TrendPoint {
  std::string date;             // YYYY-MM-DD
  std::string session_id;
  std::string finished_utc;
  TimeEstimate time;
  std::vector<double> process_medians_us;
  std::string configuration;    // display()
  std::string kernel_hash;
  SessionKind kind = SessionKind::search;  // others found no winner of their own: they timed one again
  // Against the point before; false at the first.
  bool configuration_changed = false, kernel_changed = false;
  std::vector<std::string> environment_changed;  // "driver: 580.1 -> 580.2"
};

struct Reproduction {
  std::string command;          // tunebook tune ..., quoted for a shell
  std::string book;             // path
  std::string session_id, kernel_hash, toolchain;
  std::uint64_t seed = 0;
};

// Kernel, problem, device, method and objective, with what the newest finished session says (without one: the newest).
struct Item {
  ItemKey key;
  std::string session_id;       // the session that all but `trend` is about
  std::string strategy;         // of that session
  std::string kernel_hash;
  std::string date;             // YYYY-MM-DD on which it ended (unfinished: began)
  bool finished = true;
  bool newer_unfinished = false;       // a session that began later has not ended
  std::int64_t session_count = 1;      // of this key in the selection
  std::vector<Labelled> environment;   // labels as in Side::environment

  std::optional<double> flops, bytes;  // work of one launch
  std::optional<AppliedCeiling> ceiling;  // which binds: ceiling->percent(time_us); `bandwidth`: rate in GB/s, else GFLOP/s
  std::string ceiling_phrase;             // "what a copy of this size reaches"

  std::optional<ConfigurationRow> winner;   // none: nothing passed, or not finished
  std::vector<ConfigurationRow> top;        // finalists by place, then the fastest others; the winner first; at most Limits::top
  std::int64_t tie_set_size = 0;
  std::optional<BaselineResult> baseline;
  std::vector<LadderRung> ladder;           // presets in the spec's order, then the winner; none without presets

  std::vector<std::pair<Outcome, std::int64_t>> outcomes;  // in the order of kOutcomes, none of zero
  std::int64_t trial_count = 0;             // all, failures included; the number of evaluations
  std::vector<TrialPoint> trials;           // thinned, by evaluation; the best, the extremes and every improvement are kept
  std::vector<BestSoFar> convergence;
  std::vector<RandomExpectation> random_expectation;  // thinned; the first and the last are kept
  std::vector<ParameterEffect> effects;     // of parameters with several values, largest spread first
  std::vector<FailureGroup> failures;       // most frequent first, at most Limits::failures
  std::int64_t failure_groups = 0;          // all of them
  Cost cost;
  // Oldest first; the whole history of the key in the book up to `session_id`, also what a filter by session, date or time leaves out;
  // at most Limits::nights, the newest. Empty without winners of finished sessions.
  std::vector<TrendPoint> trend;
  Reproduction reproduction;
  // Of a session that searched nothing: the search before it, with the same kernel (hash), whose trials, effects and presets say where the
  // winner comes from; also one that a filter leaves out. One at most, without a trend and costs.
  std::vector<Item> search;

  SessionKind kind() const { return session_kind(strategy); }
  const TimeEstimate* time() const { return winner && winner->time ? &*winner->time : nullptr; }
};

// From this many operations a byte on, a kernel's rate of arithmetic says more than its bandwidth (GPUs of the last ten years reach
// balance between 5 and 40).
inline constexpr double kArithmeticIntensity = 10;
// Whether GFLOP/s rather than GB/s say how good an item is: by its ceiling; without one, by its operations a byte.
bool counts_arithmetic(const Item& item);

// How much of a large book is shown. Details (trials, convergence, effects, failures) are kept for the items with most trials.
struct Limits {
  std::size_t items = 1'000;          // of a report: the last tuned
  std::size_t points = 12'000;        // trial points of all items together
  std::size_t points_per_item = 1'000;
  std::size_t detailed_items = 200;   // others have no trials, convergence, effects, failures
  std::size_t top = 12;
  std::size_t failures = 12;          // groups, of an item and of the report
  std::size_t message_bytes = 600;
  std::size_t sessions = 200;
  std::size_t nights = 90;
  std::size_t curve_points = 160;     // of random_expectation
};

struct Report {
  std::string title;            // "matmul on NVIDIA H200"
  std::string tunebook_version;
  std::string generated_utc;
  std::string command;          // that made this report, quoted for a shell
  std::string summary;          // one line: "7 shapes, 1 kernel, 1 device: 7 winners; 1,680 trials, 31 failed"
  Side side;
  std::vector<Item> items;      // by kernel, device, method, objective, problem
  std::vector<FailureGroup> failures;  // of all selected sessions, most frequent first; no evaluation, no configuration
  std::int64_t failure_groups = 0;
  std::vector<std::pair<Outcome, std::int64_t>> outcomes;  // of all selected sessions
  std::int64_t trial_count = 0;        // of all selected sessions
  Cost cost;                           // of all selected sessions
  std::vector<std::string> notes;      // what was left out or could not be read, and what to do about it
};

// ---- compare ------------------------------------------------------------------------------------------------------------------

// In the order in which a comparison lists them: what asks for attention first, what is as it was last.
enum class Verdict {
  regression,
  improvement,
  only_base,       // the candidate has no such item, or no winner for it
  inconclusive,
  only_candidate,
  unchanged,
};
std::string_view verdict_name(Verdict verdict);  // "regression", ..., "only in base", "only in candidate"

enum class FailOn { never, regression, inconclusive };  // `inconclusive`: on a regression too
std::string_view fail_on_name(FailOn fail_on);
std::optional<FailOn> parse_fail_on(std::string_view name);

struct ComparisonSettings {
  double threshold = 0.02;                          // smallest change that counts, a share
  std::map<std::string, double> kernel_thresholds;  // by kernel name, instead of it
  FailOn fail_on = FailOn::regression;
  // Differences that do not keep it from being a gate: "gpu", "driver", "toolkit", "clocks", "kernel", or "all".
  std::vector<std::string> allow_different;
};

struct ConfigurationDifference {
  std::string parameter, base, candidate;  // a value is "" if that side has no such parameter
};

struct ComparedItem {
  ItemKey key;                              // of the candidate, if it has the item
  std::optional<std::size_t> base, candidate;  // places in Comparison::base.items and candidate.items
  std::optional<TimeEstimate> base_time, candidate_time;
  std::size_t base_processes = 0, candidate_processes = 0;  // process medians on each side
  // Of candidate's time over base's, less 1: 0.083 is 8.3 % slower. Nothing if one side has no time.
  std::optional<double> change, change_low, change_high;  // low, high: plain 95 % interval
  // Of one launch, as the books have it: one value a winner, so that no test is possible. `energy_change` as `change`.
  std::optional<double> base_energy_j, candidate_energy_j, energy_change;
  std::optional<double> p, holm_p;          // two-sided; adjusted over all items of the report
  double threshold = 0;                     // of its kernel, a share
  double noise = 0;                         // historical, a share; 0 if not known
  std::size_t noise_nights = 0;             // that it comes from
  double gate = 0;                          // max(threshold, noise)
  Verdict verdict = Verdict::inconclusive;
  std::string reason;                       // in words, why this verdict
  bool same_session = false;                // one session stands on both sides: nothing is compared
  bool same_configuration = true;           // false: another winner
  bool kernel_changed = false;              // kernel hashes differ
  bool remeasured = false;                  // both winners were timed again, interleaved
  std::vector<ConfigurationDifference> configuration_differences;
};

struct EnvironmentDifference {
  std::string label;            // as in Side::environment; "kernel matmul" for a hash
  std::string base, candidate;
  bool matters = false;         // GPU, driver, toolkit, clocks, kernel: refuses a gate
  bool allowed = false;         // by ComparisonSettings::allow_different
};

struct Comparison {
  Report base, candidate;
  ComparisonSettings settings;
  std::vector<EnvironmentDifference> differences;
  std::vector<ComparedItem> items;          // regressions, worst first; improvements, largest first; inconclusive; unchanged; the rest
  std::map<Verdict, std::int64_t> counts;
  std::optional<std::size_t> worst;         // place in `items`: the largest regression, else the largest change; none without times
  bool gate_refused = false;                // a difference matters and is not allowed: no verdict can be relied on
  std::string verdict_line;                 // "1 regression, 1 improvement, 4 unchanged, 1 inconclusive (...)": plain text, one line
  int exit_code = 0;                        // 0; 3: what --fail-on names; 2: the gate is refused or nothing could be compared
  std::string title, command, generated_utc;
  std::vector<std::string> notes;
};

}  // namespace tunebook::reports
