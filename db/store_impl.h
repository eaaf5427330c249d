#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/encoding.h"
#include "db/interner.h"
#include "db/sqlite.h"
#include "db/store.h"

namespace tunebook {

// The columns of a trial's result in the order in which read_trial() and record_trial() take them.
inline constexpr const char* kTrialColumns =
    "proposal, origin, reused, outcome, message, registers, shared_static_bytes, shared_dynamic_bytes, spill_load_bytes, "
    "spill_store_bytes, stack_bytes, code_bytes, max_threads_per_block, blocks_per_sm, verified_problems, verify_max_error, "
    "median_us, min_us, ci_low_us, ci_high_us, samples_us, launches_per_sample, compile_seconds, verify_seconds, time_seconds, "
    "skipped_problems, launch_us, energy_j, sm_clock_mhz, memory_clock_mhz, temperature_c, power_w, throttled, retaken_batches";
inline constexpr int kTrialColumnCount = 34;

// A SELECT's columns kTrialColumns from `column` on; the configuration is left empty.
TrialRecord read_trial(const sqlite::Statement::Run& row, int column);

// Checks, configures and migrates a fresh connection.
sqlite::Database& prepare_book(sqlite::Database& database);

struct Store::Impl {
  explicit Impl(const std::filesystem::path& book_path);

  // One write transaction, repeated while the book is busy. Ids interned by a transaction that did not end well are forgotten.
  template <class Body>
  auto write(Body&& body) {
    const auto attempt = [&] {
      try {
        sqlite::Transaction transaction(database, sqlite::Transaction::Kind::write);
        auto result = body();
        transaction.commit();
        return result;
      } catch (...) {
        interner.forget();
        session_ids.clear();
        throw;
      }
    };
    return sqlite::repeat_while_busy(database, attempt);
  }
  template <class Body>
  auto read(Body&& body) {
    return sqlite::in_transaction(database, sqlite::Transaction::Kind::read, body);
  }

  // The row of a session; throws InputError if the book has none.
  std::int64_t session_row(const std::string& uid);
  // The kernel's parameter names in declared order, for showing configurations.
  std::vector<std::string> parameter_order(const std::string& session_uid);
  SessionRecord read_session(std::int64_t row);
  // One row of a trial; the caller is in a write transaction.
  void add_trial(const Hash& key, std::int64_t session, std::int64_t configuration, std::int64_t environment,
                 const std::string& recorded_utc, const TrialRecord& trial);
  WinnerRecord read_winner(std::int64_t winner_row, const std::vector<std::string>& order);

  std::filesystem::path path;
  sqlite::Database database;
  sqlite::Database& prepared;  // orders the start: migrated before any statement is prepared
  Interner interner;
  std::unordered_map<std::string, std::int64_t> session_ids;

  sqlite::Statement find_session_id;
  sqlite::Statement find_trial;
  sqlite::Statement insert_trial;
  sqlite::Statement has_proposal;
  sqlite::Statement last_of_proposal;
};

}  // namespace tunebook
