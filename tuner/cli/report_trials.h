#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "db/history.h"
#include "reports/failure_groups.h"
#include "reports/report.h"

namespace tunebook::cli {

// A trial as the scan keeps it: millions of them may be in memory.
struct ScannedTrial {
  std::int64_t row = 0, proposal = 0, configuration = 0;
  double time_us = std::numeric_limits<double>::quiet_NaN();  // NaN: none
  std::uint32_t origin = 0;  // place among TrialScan::origins
  std::uint32_t group = 0;   // of failures
  Outcome outcome = Outcome::ok;
  bool timed() const { return time_us == time_us; }
};

struct ScannedSession {
  std::vector<ScannedTrial> trials;  // one for each proposal, in the order of proposal
  reports::Cost cost;                // without wall_seconds; also of tries that do not count
};

struct TrialScan {
  std::map<std::int64_t, ScannedSession> sessions;  // by row
  std::vector<std::string> origins;
  reports::FailureGroups groups;
};

// Reads all trials of these sessions (rows, ascending) in one pass.
TrialScan scan_trials(History& history, const std::vector<std::int64_t>& sessions, const reports::Limits& limits);

std::vector<std::pair<Outcome, std::int64_t>> count_outcomes(const std::vector<const ScannedSession*>& sessions);
// With `evaluations` the first of each group is named, which is for a single session only.
std::vector<reports::FailureGroup> count_failures(const TrialScan& scan, const std::vector<const ScannedSession*>& sessions, bool evaluations);

// An item whose trials are shown in detail.
struct DetailedItem {
  reports::Item* item = nullptr;
  const ScannedSession* session = nullptr;
  nlohmann::ordered_json spec;               // of its kernel
  std::vector<std::string> parameter_order;  // declared
};

// Fills in the trials, the convergence, the random expectation, the effects and the failures of these items.
void add_trial_details(History& history, const TrialScan& scan, const std::vector<DetailedItem>& items, const reports::Limits& limits);

// Seconds since 1970 of an ISO 8601 text in UTC as the book has them ("2026-11-29T10:00:05.000000Z"); NaN: it is none.
double seconds_of_utc(std::string_view text);

}  // namespace tunebook::cli
