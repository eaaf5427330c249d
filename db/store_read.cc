#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "db/book_reader.h"
#include "db/store_impl.h"

namespace tunebook {
namespace {

bool deserves_retry(Outcome outcome) {
  return outcome == Outcome::worker_lost || outcome == Outcome::run_timeout || outcome == Outcome::compile_timeout;
}

Outcome read_outcome(const std::string& name) {
  const std::optional<Outcome> outcome = parse_outcome(name);
  if (!outcome) {
    throw InputError(fmt::format("the book has a trial of an unknown outcome \"{}\"; use a newer Tunebook", name));
  }
  return *outcome;
}

// The newest row is the one that was recorded last: of rows that came from different books, ids tell the order of merging.
// One row per proposal of a session: the newest, since an earlier one was tried again.
constexpr const char* kNewestOfProposal =
    "trial.id = (SELECT id FROM trial AS other WHERE other.session_id = trial.session_id "
    "AND other.proposal = trial.proposal AND other.configuration_id = trial.configuration_id ORDER BY recorded_utc DESC, id DESC LIMIT 1)";

std::vector<Ceiling> read_ceilings(sqlite::Database& database, const Device& device) {
  sqlite::Statement select(database,
                           "SELECT what, bytes, method, rate, rate_low, rate_high FROM ceiling WHERE id IN "
                           "(SELECT id FROM (SELECT ceiling.id, max(recorded_utc) FROM ceiling JOIN device ON device.id = device_id "
                           "WHERE key = ? GROUP BY what, bytes, method)) ORDER BY what, method, bytes");
  std::vector<Ceiling> ceilings;
  sqlite::Statement::Run row = select.run(device.key());
  while (row.next()) {
    ceilings.push_back({row.text(0), row.integer(1), row.text(2), row.real(3), row.real(4), row.real(5)});
  }
  return ceilings;
}

Store::Health read_health(sqlite::Database& database) {
  Store::Health health;
  sqlite::Statement integrity(database, "PRAGMA integrity_check");
  sqlite::Statement::Run row = integrity.run();
  while (row.next()) {
    if (row.text(0) != "ok") {
      health.problems.push_back(row.text(0));
    }
  }
  sqlite::Statement foreign_keys(database, "PRAGMA foreign_key_check");
  sqlite::Statement::Run broken = foreign_keys.run();
  while (broken.next()) {
    health.problems.push_back(
        fmt::format("row {} of {} refers to a missing row of {}", broken.integer(1), broken.text(0), broken.text(2)));
  }
  health.kernels = database.query_integer("SELECT count(*) FROM kernel");
  health.devices = database.query_integer("SELECT count(*) FROM device");
  health.sessions = database.query_integer("SELECT count(*) FROM session");
  health.trials = database.query_integer("SELECT count(*) FROM trial");
  health.winners = database.query_integer("SELECT count(*) FROM winner");
  return health;
}

}  // namespace

TrialRecord read_trial(const sqlite::Statement::Run& row, int column) {
  const auto resource = [&](int offset) { return row.optional_integer(column + offset).value_or(-1); };
  TrialRecord trial;
  trial.order = row.integer(column);
  trial.origin = row.text(column + 1);
  trial.reused = row.integer(column + 2) != 0;
  trial.outcome = read_outcome(row.text(column + 3));
  trial.message = row.text(column + 4);
  trial.resources.registers = resource(5);
  trial.resources.shared_static_bytes = resource(6);
  trial.resources.shared_dynamic_bytes = resource(7);
  trial.resources.spill_load_bytes = resource(8);
  trial.resources.spill_store_bytes = resource(9);
  trial.resources.stack_bytes = resource(10);
  trial.resources.code_bytes = resource(11);
  trial.resources.max_threads_per_block = resource(12);
  trial.resources.blocks_per_sm = resource(13);
  trial.verified_problems = row.integer(column + 14);
  trial.verify_max_error = row.optional_real(column + 15).value_or(std::numeric_limits<double>::quiet_NaN());
  trial.median_us = row.optional_real(column + 16);
  trial.min_us = row.optional_real(column + 17);
  trial.ci_low_us = row.optional_real(column + 18);
  trial.ci_high_us = row.optional_real(column + 19);
  trial.samples_us = decode_doubles(row.text(column + 20));
  trial.launches_per_sample = row.integer(column + 21);
  trial.compile_seconds = row.real(column + 22);
  trial.verify_seconds = row.real(column + 23);
  trial.time_seconds = row.real(column + 24);
  trial.skipped_problems = row.integer(column + 25);
  trial.launch_us = row.real(column + 26);
  trial.energy_j = row.optional_real(column + 27);
  trial.conditions.sm_clock_mhz = row.optional_real(column + 28);
  trial.conditions.memory_clock_mhz = row.optional_real(column + 29);
  trial.conditions.temperature_c = row.optional_real(column + 30);
  trial.conditions.power_w = row.optional_real(column + 31);
  trial.conditions.throttled = row.text(column + 32);
  trial.conditions.retaken_batches = row.integer(column + 33);
  return trial;
}

std::vector<std::string> Store::Impl::parameter_order(const std::string& session_uid) {
  sqlite::Statement select(database, "SELECT kernel.spec FROM session JOIN kernel ON kernel.id = kernel_id WHERE uid = ?");
  sqlite::Statement::Run row = select.run(session_uid);
  return row.next() ? declared_order_of_text(row.text(0), "parameters") : std::vector<std::string>();
}

SessionRecord Store::Impl::read_session(std::int64_t session) {
  sqlite::Statement select(database,
                           "SELECT uid, problem.json, strategy, seed, budget, where_json, identity_json, standing_winner, "
                           "finished_utc IS NOT NULL, wall_seconds, started_utc, kernel.spec FROM session "
                           "JOIN problem ON problem.id = problem_id JOIN kernel ON kernel.id = kernel_id WHERE session.id = ?");
  sqlite::Statement::Run row = select.run(session);
  SessionRecord record;
  if (row.next()) {
    record.id = row.text(0);
    record.problem = read_values(row.text(1), declared_order_of_text(row.text(11), "problem"), "problem in the book");
    record.strategy = row.text(2);
    record.seed = std::bit_cast<std::uint64_t>(row.integer(3));
    record.budget = row.text(4);
    record.where = nlohmann::json::parse(row.text(5)).get<std::vector<std::string>>();
    record.identity = nlohmann::json::parse(row.text(6));
    record.standing_winner = row.text(7);
    record.finished = row.integer(8) != 0;
    record.wall_seconds = row.real(9);
    record.started_utc = row.text(10);
  }
  return record;
}

WinnerRecord Store::Impl::read_winner(std::int64_t winner_row, const std::vector<std::string>& order) {
  WinnerRecord winner;
  sqlite::Statement select(database,
                           "SELECT session.uid, configuration.json, median_us, ci_low_us, ci_high_us, gflops, gbps, objective, energy_j FROM winner "
                           "JOIN session ON session.id = session_id JOIN configuration ON configuration.id = configuration_id "
                           "WHERE winner.id = ?");
  sqlite::Statement::Run row = select.run(winner_row);
  if (row.next()) {
    winner.session_id = row.text(0);
    winner.configuration = read_values(row.text(1), order, "configuration in the book");
    winner.median_us = row.real(2);
    winner.ci_low_us = row.real(3);
    winner.ci_high_us = row.real(4);
    winner.gflops = row.optional_real(5);
    winner.gbps = row.optional_real(6);
    winner.objective = row.text(7);
    winner.energy_j = row.optional_real(8);
  }
  sqlite::Statement finalists(database,
                              "SELECT configuration.json, process_medians_us, median_us, ci_low_us, ci_high_us, in_tie_set, "
                              "registers, shared_bytes, energy_j, sanitizer FROM finalist JOIN configuration ON configuration.id = configuration_id "
                              "WHERE winner_id = ? ORDER BY place");
  sqlite::Statement::Run each = finalists.run(winner_row);
  while (each.next()) {
    FinalistRecord finalist;
    finalist.configuration = read_values(each.text(0), order, "configuration in the book");
    finalist.process_medians_us = decode_doubles(each.text(1));
    finalist.median_us = each.real(2);
    finalist.ci_low_us = each.real(3);
    finalist.ci_high_us = each.real(4);
    finalist.in_tie_set = each.integer(5) != 0;
    finalist.registers = each.optional_integer(6).value_or(-1);
    finalist.shared_bytes = each.optional_integer(7).value_or(-1);
    finalist.energy_j = each.optional_real(8);
    finalist.sanitizer = each.text(9);
    winner.finalists.push_back(std::move(finalist));
  }
  return winner;
}

std::optional<SessionRecord> Store::find_session(const TrialContext& context, const nlohmann::json& identity) const {
  const Hash hash = session_identity(context, to_book_text(identity));
  return impl_->read([&]() -> std::optional<SessionRecord> {
    sqlite::Statement select(impl_->database, "SELECT id FROM session WHERE identity_hash = ? ORDER BY started_utc DESC, id DESC LIMIT 1");
    sqlite::Statement::Run row = select.run(as_blob(hash));
    return row.next() ? std::optional(impl_->read_session(row.integer(0))) : std::nullopt;
  });
}

std::optional<TrialRecord> Store::find_trial(const TrialContext& context, const Problem& problem,
                                             const Configuration& configuration) const {
  const Hash key = trial_key(context, problem, configuration);
  std::optional<TrialRecord> found = sqlite::repeat_while_busy(impl_->database, [&]() -> std::optional<TrialRecord> {
    sqlite::Statement::Run row = impl_->find_trial.run(as_blob(key));
    if (!row.next()) {
      return std::nullopt;
    }
    TrialRecord newest = read_trial(row, 0);
    if (!deserves_retry(newest.outcome)) {
      return newest;
    }
    // The newest failed in a way that may have been chance: an answer if it did so before, else the one before it is.
    if (!row.next()) {
      return std::nullopt;
    }
    TrialRecord before = read_trial(row, 0);
    return deserves_retry(before.outcome) ? newest : before;
  });
  if (found) {
    found->configuration = configuration;
  }
  return found;
}

bool Store::has_proposal(const std::string& session_id, std::int64_t order, const Configuration& configuration) const {
  return impl_->read([&] {
    sqlite::Statement find(impl_->database,
                           "SELECT 1 FROM trial JOIN session ON session.id = session_id JOIN configuration ON configuration.id = "
                           "configuration_id WHERE session.uid = ? AND proposal = ? AND configuration.json = ?");
    return find.run(session_id, order, configuration.canonical()).next();
  });
}

std::vector<TrialRecord> Store::session_trials(const std::string& session_id) const {
  return impl_->read([&] {
    const std::vector<std::string> order = impl_->parameter_order(session_id);
    sqlite::Statement select(impl_->database,
                             fmt::format("SELECT {}, configuration.json FROM trial "
                                         "JOIN configuration ON configuration.id = configuration_id "
                                         "WHERE session_id = ? AND {} ORDER BY proposal, trial.id",
                                         kTrialColumns, kNewestOfProposal));
    std::vector<TrialRecord> trials;
    sqlite::Statement::Run row = select.run(impl_->session_row(session_id));
    while (row.next()) {
      trials.push_back(read_trial(row, 0));
      trials.back().configuration = read_values(row.text(kTrialColumnCount), order, "configuration in the book");
    }
    return trials;
  });
}

std::vector<std::pair<Outcome, std::int64_t>> Store::session_outcomes(const std::string& session_id) const {
  return impl_->read([&] {
    sqlite::Statement select(
        impl_->database,
        fmt::format("SELECT outcome, count(*) FROM trial WHERE session_id = ? AND {} GROUP BY outcome", kNewestOfProposal));
    std::map<Outcome, std::int64_t> counts;  // by order of the enumeration
    sqlite::Statement::Run row = select.run(impl_->session_row(session_id));
    while (row.next()) {
      counts[read_outcome(row.text(0))] = row.integer(1);
    }
    return std::vector<std::pair<Outcome, std::int64_t>>(counts.begin(), counts.end());
  });
}

std::optional<WinnerRecord> Store::session_winner(const std::string& session_id) const {
  return impl_->read([&]() -> std::optional<WinnerRecord> {
    sqlite::Statement select(impl_->database, "SELECT id FROM winner WHERE session_id = ? ORDER BY recorded_utc DESC, id DESC LIMIT 1");
    sqlite::Statement::Run row = select.run(impl_->session_row(session_id));
    if (!row.next()) {
      return std::nullopt;
    }
    return impl_->read_winner(row.integer(0), impl_->parameter_order(session_id));
  });
}

std::optional<WinnerRecord> Store::standing_winner(const TrialContext& context, const Problem& problem,
                                                   const std::string& objective) const {
  return impl_->read([&]() -> std::optional<WinnerRecord> {
    sqlite::Statement select(impl_->database,
                             "SELECT winner.id, session.uid FROM session JOIN kernel ON kernel.id = kernel_id "
                             "JOIN device ON device.id = device_id JOIN problem ON problem.id = problem_id "
                             "JOIN winner ON winner.session_id = session.id "
                             "WHERE problem.hash = ? AND kernel.name = ? AND kernel.hash = ? AND device.key = ? AND method = ? "
                             "AND objective = ? AND finished_utc IS NOT NULL "
                             "ORDER BY finished_utc DESC, uid, recorded_utc DESC, winner.id DESC LIMIT 1");
    const Hash problem_hash = to_hash(content_hash(problem.canonical()));
    sqlite::Statement::Run row =
        select.run(as_blob(problem_hash), context.kernel, context.kernel_hash, context.device.key(), context.method, objective);
    if (!row.next()) {
      return std::nullopt;
    }
    return impl_->read_winner(row.integer(0), impl_->parameter_order(row.text(1)));
  });
}

std::optional<WinnerRecord> Store::previous_winner(const TrialContext& context, const Problem& problem, const std::string& objective,
                                                   const std::vector<std::string>& other_than) const {
  return impl_->read([&]() -> std::optional<WinnerRecord> {
    sqlite::Statement select(impl_->database,
                             "SELECT winner.id, session.uid FROM session JOIN kernel ON kernel.id = kernel_id "
                             "JOIN device ON device.id = device_id JOIN problem ON problem.id = problem_id "
                             "JOIN winner ON winner.session_id = session.id "
                             "WHERE problem.hash = ? AND kernel.name = ? AND device.key = ? AND method = ? AND objective = ? "
                             "AND finished_utc IS NOT NULL ORDER BY finished_utc DESC, uid, recorded_utc DESC, winner.id DESC");
    const Hash problem_hash = to_hash(content_hash(problem.canonical()));
    sqlite::Statement::Run row = select.run(as_blob(problem_hash), context.kernel, context.device.key(), context.method, objective);
    while (row.next()) {
      if (std::find(other_than.begin(), other_than.end(), row.text(1)) != other_than.end()) continue;
      return impl_->read_winner(row.integer(0), impl_->parameter_order(row.text(1)));
    }
    return std::nullopt;
  });
}

std::vector<Store::KernelWinner> Store::kernel_winners(const std::string& kernel, const std::string& objective,
                                                        const std::optional<OtherDevices>& others, std::int64_t limit) const {
  return impl_->read([&] {
    sqlite::Statement select(impl_->database,
                             "SELECT problem.json, device.key, configuration.json, kernel.spec, max(recorded_utc) AS last FROM kernel "
                             "JOIN session ON session.kernel_id = kernel.id JOIN winner ON winner.session_id = session.id "
                             "JOIN device ON device.id = device_id JOIN problem ON problem.id = problem_id "
                             "JOIN configuration ON configuration.id = winner.configuration_id "
                             "WHERE kernel.name = ? AND objective = ? AND finished_utc IS NOT NULL AND (NOT ? OR device.key = ? OR finished_utc < ?) "
                             "GROUP BY problem.id, device.id ORDER BY last DESC LIMIT ?");
    std::vector<KernelWinner> winners;
    const OtherDevices limited = others.value_or(OtherDevices{});
    sqlite::Statement::Run row = select.run(kernel, objective, others.has_value(), limited.than_device_key, limited.before_utc, limit);
    while (row.next()) {
      winners.push_back({read_values(row.text(0), declared_order_of_text(row.text(3), "problem"), "problem in the book"), row.text(1),
                         read_values(row.text(2), declared_order_of_text(row.text(3), "parameters"), "configuration in the book")});
    }
    return winners;
  });
}

std::optional<BaselineRecord> Store::session_baseline(const std::string& session_id) const {
  return impl_->read([&]() -> std::optional<BaselineRecord> {
    sqlite::Statement select(impl_->database,
                             "SELECT operation, state, name, message, method, process_medians_us, median_us, ci_low_us, ci_high_us FROM baseline "
                             "WHERE session_id = ? ORDER BY recorded_utc DESC, id DESC LIMIT 1");
    sqlite::Statement::Run row = select.run(impl_->session_row(session_id));
    if (!row.next()) {
      return std::nullopt;
    }
    const std::optional<BaselineState> state = parse_baseline_state(row.text(1));
    if (!state) {
      throw InputError(fmt::format("the book has a baseline of an unknown state \"{}\"; use a newer Tunebook", row.text(1)));
    }
    return BaselineRecord{row.text(0), *state,          row.text(2), row.text(3), row.text(4), decode_doubles(row.text(5)),
                          row.optional_real(6), row.optional_real(7), row.optional_real(8)};
  });
}

std::vector<ProfileRecord> Store::session_profiles(const std::string& session_id) const {
  return impl_->read([&] {
    sqlite::Statement select(impl_->database,
                             "SELECT proposal, tool, json, profile.recorded_utc FROM profile JOIN trial ON trial.id = trial_id "
                             "WHERE session_id = ? ORDER BY proposal, profile.recorded_utc, profile.id");
    std::vector<ProfileRecord> profiles;
    sqlite::Statement::Run row = select.run(impl_->session_row(session_id));
    while (row.next()) {
      profiles.push_back({row.integer(0), row.text(1), nlohmann::json::parse(row.text(2)), row.text(3)});
    }
    return profiles;
  });
}

std::vector<Ceiling> Store::ceilings(const Device& device) const {
  return impl_->read([&] { return read_ceilings(impl_->database, device); });
}

std::vector<Ceiling> Store::ceilings_in_file(const std::filesystem::path& path, const Device& device) {
  if (!std::filesystem::exists(path)) return {};
  return BookReader(path).read([&](sqlite::Database& database) {
    const bool has_ceilings =
        sqlite::Statement(database, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'ceiling'").run().next();
    return has_ceilings ? read_ceilings(database, device) : std::vector<Ceiling>();
  });
}

Store::Health Store::check() const {
  return impl_->read([&] { return read_health(impl_->database); });
}

Store::Health Store::check_file(const std::filesystem::path& path) { return BookReader(path).read(read_health); }

}  // namespace tunebook
