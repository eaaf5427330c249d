#include "db/history.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "db/book_reader.h"
#include "db/encoding.h"
#include "db/schema.h"
#include "db/store_impl.h"

namespace tunebook {
namespace {

// The versions that brought what is read here.
constexpr std::int64_t kEnergyVersion = 2;
constexpr std::int64_t kCeilingVersion = 2;
constexpr std::int64_t kBaselineVersion = 4;

// Asked for by row, a trial costs about as much as a dozen in a scan of the whole table.
constexpr std::int64_t kScanFactor = 12;

void replace_word(std::string& text, const std::string& word, const std::string& by) {
  const std::size_t at = text.find(word);
  if (at != std::string::npos) text.replace(at, word.size(), by);
}

// kTrialColumns without the samples, and with what the book's version knows.
std::string trial_columns(std::int64_t version) {
  std::string columns = kTrialColumns;
  replace_word(columns, "samples_us", "x''");
  if (version >= kEnergyVersion) return columns;
  replace_word(columns, "skipped_problems", "0");
  replace_word(columns, "launch_us", "0.0");
  replace_word(columns, "energy_j", "NULL");
  replace_word(columns, "power_w", "NULL");
  replace_word(columns, "throttled", "''");
  replace_word(columns, "retaken_batches", "0");
  return columns;
}

std::string energy_column(std::int64_t version) { return version >= kEnergyVersion ? "energy_j" : "NULL"; }
std::string sanitizer_column(std::int64_t version) { return version >= kEnergyVersion ? "sanitizer" : "''"; }

}  // namespace

struct History::Impl {
  Impl(sqlite::Database& book, std::int64_t book_version)
      : database(book),
        version(book_version),
        select_configuration(book, "SELECT json FROM configuration WHERE id = ?"),
        select_trial(book, fmt::format("SELECT {} FROM trial WHERE id = ?", trial_columns(version))),
        select_sample_count(book, "SELECT length(samples_us) FROM trial WHERE id = ?"),
        select_winner(book, fmt::format("SELECT configuration_id, median_us, ci_low_us, ci_high_us, gflops, gbps, objective, {} "
                                        "FROM winner WHERE id = ?",
                                        energy_column(version))),
        select_finalists(book, fmt::format("SELECT configuration_id, process_medians_us, median_us, ci_low_us, ci_high_us, in_tie_set, "
                                           "registers, shared_bytes, {}, {} FROM finalist WHERE winner_id = ? ORDER BY place",
                                           energy_column(version), sanitizer_column(version))) {}

  [[noreturn]] void damaged(const std::string& what) const {
    throw InputError(fmt::format("book {}: {}; tunebook doctor --book {} tells more", database.name(), what, database.name()));
  }

  template <class Json>
  Json parsed(const std::string& text, const std::string& what, nlohmann::detail::value_t type) const {
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded() || json.type() != type) damaged(what + " is no JSON of the kind that belongs there");
    return json;
  }

  std::string text(const char* sql, std::int64_t row, const char* what) const {
    sqlite::Statement select(database, sql);
    sqlite::Statement::Run found = select.run(row);
    if (!found.next()) damaged(fmt::format("row {} of {} is missing", row, what));
    return found.text(0);
  }

  std::string configuration(std::int64_t row) {
    sqlite::Statement::Run found = select_configuration.run(row);
    if (!found.next()) damaged(fmt::format("row {} of configuration is missing", row));
    return found.text(0);
  }

  Configuration ordered_configuration(std::int64_t row, const std::vector<std::string>& order) {
    return read_values(configuration(row), order, fmt::format("book {}: configuration {}", database.name(), row));
  }

  Outcome outcome(std::string_view name) const {
    const std::optional<Outcome> known = parse_outcome(name);
    if (!known) damaged(fmt::format("it has a trial of an unknown outcome \"{}\" (a newer Tunebook may know it)", name));
    return *known;
  }

  // Columns as in kScanColumns.
  void visit_rows(sqlite::Statement::Run& row, const std::function<bool(std::int64_t)>& wanted,
                  const std::function<void(const HistoryTrial&)>& visit) const {
    HistoryTrial trial;
    while (row.next()) {
      trial.session = row.integer(1);
      if (wanted && !wanted(trial.session)) continue;
      trial.row = row.integer(0);
      trial.configuration = row.integer(2);
      trial.proposal = row.integer(3);
      trial.origin = row.text_view(4);
      trial.reused = row.integer(5) != 0;
      trial.outcome = outcome(row.text_view(6));
      trial.message = row.text_view(7);
      trial.median_us = row.optional_real(8);
      trial.compile_seconds = row.real(9);  // NULL: 0
      trial.verify_seconds = row.real(10);
      trial.time_seconds = row.real(11);
      trial.recorded_utc = row.text_view(12);
      visit(trial);
    }
  }

  sqlite::Database& database;
  std::int64_t version;
  sqlite::Statement select_configuration, select_trial, select_sample_count, select_winner, select_finalists;
};

namespace {
constexpr const char* kScanColumns =
    "id, session_id, configuration_id, proposal, origin, reused, outcome, message, median_us, compile_seconds, verify_seconds, "
    "time_seconds, recorded_utc";
}  // namespace

History::History(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
History::~History() = default;

void History::read(const std::filesystem::path& path, const std::function<void(History&)>& body) {
  BookReader reader(path);
  reader.read([&](sqlite::Database& database) {
    History history(std::make_unique<Impl>(database, reader.version()));
    body(history);
    return 0;
  });
}

std::int64_t History::version() const { return impl_->version; }

bool History::published() const {
  return impl_->version >= kPublicationVersion && impl_->database.query_integer("SELECT count(*) FROM publication") > 0;
}

std::vector<HistorySession> History::sessions() {
  // The newest winner of a session counts; ids tell the order of merging where books were merged.
  sqlite::Statement select(impl_->database,
                           "SELECT session.id, kernel_id, device_id, problem_id, environment_id, uid, toolchain, method, strategy, budget, "
                           "seed, wall_seconds, started_utc, finished_utc, winner.id, objective FROM session LEFT JOIN winner ON winner.id = "
                           "(SELECT id FROM winner AS one WHERE one.session_id = session.id ORDER BY recorded_utc DESC, id DESC LIMIT 1) "
                           "ORDER BY session.id");
  std::vector<HistorySession> sessions;
  sqlite::Statement::Run row = select.run();
  while (row.next()) {
    HistorySession session;
    session.row = row.integer(0);
    session.kernel = row.integer(1);
    session.device = row.integer(2);
    session.problem = row.integer(3);
    session.environment = row.integer(4);
    session.id = row.text(5);
    session.toolchain = row.text(6);
    session.method = row.text(7);
    session.strategy = row.text(8);
    session.budget = row.text(9);
    session.seed = std::bit_cast<std::uint64_t>(row.integer(10));
    session.wall_seconds = row.real(11);
    if (!(session.wall_seconds >= 0 && session.wall_seconds <= std::numeric_limits<double>::max())) session.wall_seconds = 0;  // damaged
    session.started_utc = row.text(12);
    session.finished_utc = row.is_null(13) ? std::string() : row.text(13);
    session.winner = row.is_null(14) ? 0 : row.integer(14);
    session.objective = row.is_null(15) ? std::string() : row.text(15);
    sessions.push_back(std::move(session));
  }
  return sessions;
}

std::vector<HistoryKernel> History::kernels() {
  sqlite::Statement select(impl_->database, "SELECT id, name, hash FROM kernel ORDER BY id");
  std::vector<HistoryKernel> kernels;
  sqlite::Statement::Run row = select.run();
  while (row.next()) kernels.push_back({row.integer(0), row.text(1), row.text(2)});
  return kernels;
}

std::vector<HistoryDevice> History::devices() {
  sqlite::Statement select(impl_->database, "SELECT id, json FROM device ORDER BY id");
  std::vector<HistoryDevice> devices;
  sqlite::Statement::Run row = select.run();
  while (row.next()) {
    const std::string where = fmt::format("device {}", row.integer(0));
    const auto json = impl_->parsed<nlohmann::json>(row.text(1), where, nlohmann::json::value_t::object);
    try {
      devices.push_back({row.integer(0), Device::from_json(json)});
    } catch (const InputError& error) {
      impl_->damaged(where + ": " + error.what());
    }
  }
  return devices;
}

nlohmann::ordered_json History::kernel_spec(std::int64_t kernel) {
  return impl_->parsed<nlohmann::ordered_json>(impl_->text("SELECT spec FROM kernel WHERE id = ?", kernel, "kernel"),
                                               fmt::format("the spec of kernel {}", kernel), nlohmann::json::value_t::object);
}

nlohmann::json History::environment(std::int64_t row) {
  return impl_->parsed<nlohmann::json>(impl_->text("SELECT json FROM environment WHERE id = ?", row, "environment"),
                                       fmt::format("environment {}", row), nlohmann::json::value_t::object);
}

std::string History::problem(std::int64_t row) { return impl_->text("SELECT json FROM problem WHERE id = ?", row, "problem"); }
std::string History::configuration(std::int64_t row) { return impl_->configuration(row); }

void History::configurations(const std::vector<std::int64_t>& rows,
                             const std::function<void(std::int64_t, std::string_view)>& visit) {
  const std::int64_t all = impl_->database.query_integer("SELECT count(*) FROM configuration");
  if (static_cast<std::int64_t>(rows.size()) * kScanFactor < all) {
    for (const std::int64_t row : rows) visit(row, impl_->configuration(row));
    return;
  }
  sqlite::Statement select(impl_->database, "SELECT id, json FROM configuration ORDER BY id");
  sqlite::Statement::Run row = select.run();
  auto wanted = rows.begin();
  while (wanted != rows.end() && row.next()) {
    if (row.integer(0) != *wanted) continue;
    visit(*wanted, row.text_view(1));
    ++wanted;
  }
  if (wanted != rows.end()) impl_->damaged(fmt::format("row {} of configuration is missing", *wanted));
}

History::SessionSettings History::session_settings(std::int64_t session) {
  sqlite::Statement select(impl_->database, "SELECT where_json, identity_json FROM session WHERE id = ?");
  sqlite::Statement::Run row = select.run(session);
  if (!row.next()) impl_->damaged(fmt::format("row {} of session is missing", session));
  SessionSettings settings;
  const auto where = impl_->parsed<nlohmann::json>(row.text(0), fmt::format("where_json of session {}", session), nlohmann::json::value_t::array);
  for (const auto& one : where) {
    if (one.is_string()) settings.where.push_back(one.get<std::string>());
  }
  settings.identity = impl_->parsed<nlohmann::json>(row.text(1), fmt::format("identity_json of session {}", session), nlohmann::json::value_t::object);
  return settings;
}

History::Winner History::winner(std::int64_t winner, const std::vector<std::string>& order) {
  Winner result;
  WinnerRecord& record = result.record;
  {
    sqlite::Statement::Run row = impl_->select_winner.run(winner);
    if (!row.next()) impl_->damaged(fmt::format("row {} of winner is missing", winner));
    result.configuration = row.integer(0);
    record.configuration = impl_->ordered_configuration(result.configuration, order);
    record.median_us = row.real(1);
    record.ci_low_us = row.real(2);
    record.ci_high_us = row.real(3);
    record.gflops = row.optional_real(4);
    record.gbps = row.optional_real(5);
    record.objective = row.text(6);
    record.energy_j = row.optional_real(7);
  }
  sqlite::Statement::Run row = impl_->select_finalists.run(winner);
  while (row.next()) {
    FinalistRecord finalist;
    result.configurations.push_back(row.integer(0));
    finalist.configuration = impl_->ordered_configuration(row.integer(0), order);
    finalist.process_medians_us = decode_doubles(row.text_view(1));
    finalist.median_us = row.real(2);
    finalist.ci_low_us = row.real(3);
    finalist.ci_high_us = row.real(4);
    finalist.in_tie_set = row.integer(5) != 0;
    finalist.registers = row.optional_integer(6).value_or(-1);
    finalist.shared_bytes = row.optional_integer(7).value_or(-1);
    finalist.energy_j = row.optional_real(8);
    finalist.sanitizer = row.text(9);
    record.finalists.push_back(std::move(finalist));
  }
  return result;
}

std::optional<BaselineRecord> History::baseline(std::int64_t session) {
  if (impl_->version < kBaselineVersion) return std::nullopt;
  sqlite::Statement select(impl_->database,
                           "SELECT operation, state, name, message, method, process_medians_us, median_us, ci_low_us, ci_high_us FROM baseline "
                           "WHERE session_id = ? ORDER BY recorded_utc DESC, id DESC LIMIT 1");
  sqlite::Statement::Run row = select.run(session);
  if (!row.next()) return std::nullopt;
  const std::optional<BaselineState> state = parse_baseline_state(row.text_view(1));
  if (!state) impl_->damaged(fmt::format("it has a baseline of an unknown state \"{}\" (a newer Tunebook may know it)", row.text_view(1)));
  return BaselineRecord{row.text(0), *state, row.text(2), row.text(3), row.text(4), decode_doubles(row.text_view(5)),
                        row.optional_real(6), row.optional_real(7), row.optional_real(8)};
}

std::vector<Ceiling> History::ceilings(std::int64_t device) {
  std::vector<Ceiling> ceilings;
  if (impl_->version < kCeilingVersion) return ceilings;
  sqlite::Statement select(impl_->database,
                           "SELECT what, bytes, method, rate, rate_low, rate_high FROM ceiling WHERE id IN "
                           "(SELECT id FROM (SELECT id, max(recorded_utc) FROM ceiling WHERE device_id = ? GROUP BY what, bytes, method)) "
                           "ORDER BY what, method, bytes");
  sqlite::Statement::Run row = select.run(device);
  while (row.next()) ceilings.push_back({row.text(0), row.integer(1), row.text(2), row.real(3), row.real(4), row.real(5)});
  return ceilings;
}

void History::trials(const std::vector<std::int64_t>& sessions, const std::function<void(const HistoryTrial&)>& visit) {
  const std::int64_t all = impl_->database.query_integer("SELECT count(*) FROM session");
  if (static_cast<std::int64_t>(sessions.size()) * kScanFactor < all) {
    sqlite::Statement select(impl_->database, fmt::format("SELECT {} FROM trial WHERE session_id = ? ORDER BY id", kScanColumns));
    for (const std::int64_t session : sessions) {
      sqlite::Statement::Run row = select.run(session);
      impl_->visit_rows(row, {}, visit);
    }
    return;
  }
  sqlite::Statement select(impl_->database, fmt::format("SELECT {} FROM trial ORDER BY id", kScanColumns));
  sqlite::Statement::Run row = select.run();
  std::int64_t last = -1;
  bool last_wanted = false;
  const auto wanted = [&](std::int64_t session) {
    if (session != last) {
      last = session;
      last_wanted = std::binary_search(sessions.begin(), sessions.end(), session);
    }
    return last_wanted;
  };
  impl_->visit_rows(row, wanted, visit);
}

std::int64_t History::trial_count() { return impl_->database.query_integer("SELECT count(*) FROM trial"); }

TrialRecord History::trial(std::int64_t row) {
  sqlite::Statement::Run found = impl_->select_trial.run(row);
  if (!found.next()) impl_->damaged(fmt::format("row {} of trial is missing", row));
  return read_trial(found, 0);
}

std::int64_t History::sample_count(std::int64_t trial) {
  sqlite::Statement::Run found = impl_->select_sample_count.run(trial);
  if (!found.next()) impl_->damaged(fmt::format("row {} of trial is missing", trial));
  return found.integer(0) / static_cast<std::int64_t>(sizeof(double));
}

}  // namespace tunebook
