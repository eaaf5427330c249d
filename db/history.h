#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/ceiling.h"
#include "core/device.h"
#include "core/outcome.h"
#include "core/problem.h"
#include "db/store.h"

namespace tunebook {

// A session as a list of them needs it. `kernel`, `device`, `problem` and `environment` are rows of those tables.
struct HistorySession {
  std::int64_t row = 0, kernel = 0, device = 0, problem = 0, environment = 0;
  std::string id;               // 32 hex digits
  std::string toolchain, method, strategy, budget;
  std::uint64_t seed = 0;
  double wall_seconds = 0;
  std::string started_utc;
  std::string finished_utc;     // "": not finished
  std::int64_t winner = 0;      // row of its newest winner; 0: none
  std::string objective;        // of that winner; "" without one
};

struct HistoryKernel {
  std::int64_t row = 0;
  std::string name, hash;
};

struct HistoryDevice {
  std::int64_t row = 0;
  Device device;
};

// One trial, as a scan over millions of them gives it. The texts live until the next one.
struct HistoryTrial {
  std::int64_t row = 0, session = 0, configuration = 0, proposal = 0;  // rows of their tables; order in the session
  std::string_view origin, message, recorded_utc;
  bool reused = false;
  Outcome outcome = Outcome::ok;
  std::optional<double> median_us;
  double compile_seconds = 0, verify_seconds = 0, time_seconds = 0;
};

// What a book holds, read and never written: for reports. A book of an older version is read as it is; what its version did not know
// yet is missing (energy, sanitizer, baselines, ceilings). Throws InputError for damaged content, naming the book and the place.
class History {
 public:
  // Calls `body` on a consistent state of the book at `path`, which may be a working or a published one, in a read-only folder. It may be
  // called again from the start if the file was replaced meanwhile, and must keep nothing of an earlier call. Throws InputError if there
  // is no book or one of a newer version.
  static void read(const std::filesystem::path& path, const std::function<void(History&)>& body);

  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  std::int64_t version() const;
  bool published() const;       // it has no trials

  std::vector<HistorySession> sessions();   // in the order of their rows
  std::vector<HistoryKernel> kernels();
  std::vector<HistoryDevice> devices();
  nlohmann::ordered_json kernel_spec(std::int64_t kernel);
  nlohmann::json environment(std::int64_t row);      // an object
  std::string problem(std::int64_t row);             // canonical text
  std::string configuration(std::int64_t row);       // canonical text
  // The same of many, in ascending order of row; `rows` must be so too.
  void configurations(const std::vector<std::int64_t>& rows, const std::function<void(std::int64_t row, std::string_view text)>& visit);

  // What a session was asked for: {"where": [...], and what its identity holds}.
  struct SessionSettings {
    std::vector<std::string> where;
    nlohmann::json identity;    // an object; empty in a published book
  };
  SessionSettings session_settings(std::int64_t session);

  // Parameters come in `order`. `session_id` is left empty; process medians are missing in a published book.
  struct Winner {
    WinnerRecord record;
    std::int64_t configuration = 0;           // row
    std::vector<std::int64_t> configurations;  // of the finalists
  };
  Winner winner(std::int64_t winner, const std::vector<std::string>& order);
  std::optional<BaselineRecord> baseline(std::int64_t session);
  std::vector<Ceiling> ceilings(std::int64_t device);  // row; the newest of each, as Store::ceilings()

  // Every trial of these sessions (rows, ascending), in the order in which they were recorded if there are many, else session by session.
  // A proposal that was tried again comes several times; the last one counts.
  void trials(const std::vector<std::int64_t>& sessions, const std::function<void(const HistoryTrial&)>& visit);
  // Number of rows of the table.
  std::int64_t trial_count();
  // One trial with everything but its samples and its configuration.
  TrialRecord trial(std::int64_t row);
  // How many samples its median and interval are of; 0: the book does not hold them.
  std::int64_t sample_count(std::int64_t trial);

 private:
  struct Impl;
  explicit History(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tunebook
