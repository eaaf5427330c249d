#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "db/history.h"
#include "reports/report.h"

namespace tunebook::cli {

// Which part of a book a report is about. Several values of one key: any of them.
struct ReportFilter {
  std::vector<std::string> kernels;
  std::vector<std::string> devices;   // a name or a part of one, a kind ("cuda", "cpu", "replay"), or "sm_90"
  std::vector<std::string> sessions;  // ids or beginnings of ids
  std::vector<std::string> dates;     // YYYY-MM-DD (UTC), "latest", "previous": on which sessions ended
  std::vector<std::string> toolkits, drivers;  // or parts
  std::string since, until;           // "2026-11-29", "2026-11-29T14:30", "7d", "12h"; both ends count
};

// One side as it is named on the command line: BOOK, BOOK#KEY=VALUE#KEY=VALUE, #KEY=VALUE.
struct SideRequest {
  std::string label;
  std::filesystem::path book;
  ReportFilter filter;
  std::vector<reports::Labelled> shown_filter;  // as given
};

// Keys: session, date, device, kernel, toolkit, driver, since, until. Without a BOOK it is `default_book`. Throws InputError naming the
// nearest key.
SideRequest parse_side(const std::string& text, const std::filesystem::path& default_book);
// Adds options that hold for every side; a key that the side has itself is left as it is.
void add_filter(SideRequest& side, const ReportFilter& filter);

// The sessions of a book that a report is about, with what they refer to.
class SessionSelection {
 public:
  // Throws InputError if a value of the filter is in no session of the book (naming the nearest), or all together are in none.
  SessionSelection(History& history, const SideRequest& side, std::chrono::system_clock::time_point now);

  const std::vector<HistorySession>& all() const { return all_; }
  const std::vector<HistorySession>& selected() const { return selected_; }  // in the order of their rows
  const std::string& kernel_name(const HistorySession& session) const;
  const std::string& kernel_hash(const HistorySession& session) const;
  const Device& device(const HistorySession& session) const;
  const nlohmann::json& environment_json(const HistorySession& session);
  // Labels as reports::Side::environment.
  std::vector<reports::Labelled> environment(const HistorySession& session);

 private:
  History& history_;
  std::string book_;
  std::vector<HistorySession> all_, selected_;
  std::map<std::int64_t, HistoryKernel> kernels_;
  std::map<std::int64_t, Device> devices_;
  std::map<std::int64_t, nlohmann::json> environments_;
};

// When a session ended, or began if it did not: ISO 8601.
const std::string& session_time(const HistorySession& session);
// Its first ten characters.
std::string session_date(const HistorySession& session);

}  // namespace tunebook::cli
