#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/report_sessions.h"
#include "cli/report_trials.h"
#include "core/spec.h"
#include "reports/report.h"

namespace tunebook::cli {

// What the items of a report have in common: specs, ceilings, environments, each read once.
class ItemReader {
 public:
  ItemReader(History& history, SessionSelection& selection, const SideRequest& side, const reports::Limits& limits)
      : history_(history), selection_(selection), side_(side), limits_(limits) {}

  // The problem of a session in the declared order of its kernel.
  Problem problem(const HistorySession& session);
  std::string configuration_place(std::int64_t row) const;  // for messages
  // What a session makes small: of its winner, else as it was asked for.
  std::string objective(const HistorySession& session);
  const std::vector<std::string>& parameter_order(const HistorySession& session);
  const nlohmann::ordered_json& spec_json(const HistorySession& session);
  reports::SessionInfo session_info(const HistorySession& session, std::int64_t trials);

  // Itself, or the search whose finalists it timed, if the book has it.
  const HistorySession& searched(const HistorySession& session);

  // An item as its session says; `scanned`: its trials, `history`: its key's finished sessions with winners, in the order in which they ended,
  // itself the last of them if it is one.
  reports::Item item(const HistorySession& session, const ScannedSession& scanned, const TrialScan& scan,
                     const std::vector<const HistorySession*>& history);

 private:
  struct Kernel {
    nlohmann::ordered_json json;
    std::optional<KernelSpec> spec;  // nothing: of a recording, or of another version of Tunebook
    std::vector<std::string> dimensions, parameters;
  };
  const Kernel& kernel(const HistorySession& session);
  const std::vector<Ceiling>& ceilings(const HistorySession& session);

  void add_work(reports::Item& item, const HistorySession& session, const std::optional<History::Winner>& winner);
  reports::Rates rates(const reports::Item& item, double time_us) const;
  void add_baseline(reports::Item& item, const HistorySession& session, const std::optional<History::Winner>& winner);
  void add_configurations(reports::Item& item, const HistorySession& session, const ScannedSession& scanned, const TrialScan& scan,
                          const std::optional<History::Winner>& winner);
  void add_trial_facts(reports::ConfigurationRow& row, const ScannedTrial& trial, std::int64_t evaluation, const TrialScan& scan);
  void add_ladder(reports::Item& item, const HistorySession& session, const ScannedSession& scanned, const TrialScan& scan);
  void add_trend(reports::Item& item, const std::vector<const HistorySession*>& history);
  reports::Reproduction reproduction(const HistorySession& session);

  History& history_;
  SessionSelection& selection_;
  const SideRequest& side_;
  const reports::Limits& limits_;
  std::map<std::int64_t, std::unique_ptr<Kernel>> kernels_;
  std::map<std::int64_t, std::vector<Ceiling>> ceilings_;
};

}  // namespace tunebook::cli
