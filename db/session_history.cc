#include "db/session_history.h"

#include <bit>
#include <cstdio>
#include <ctime>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "db/book_reader.h"
#include "db/sqlite.h"

namespace tunebook {
namespace {

constexpr const char* kSessions =
    "SELECT session.id, session.uid, kernel.name, kernel.hash, device.json, device.key, problem.json, toolchain, method, identity_json, "
    "strategy, budget, seed, where_json, started_utc, finished_utc, wall_seconds, "
    "(SELECT count(*) FROM trial WHERE trial.session_id = session.id), "
    "(SELECT winner.id FROM winner WHERE winner.session_id = session.id ORDER BY recorded_utc DESC, winner.id DESC LIMIT 1) "
    "FROM session JOIN kernel ON kernel.id = kernel_id JOIN device ON device.id = device_id JOIN problem ON problem.id = problem_id "
    "WHERE ? OR kernel.name IN (SELECT value FROM json_each(?)) ORDER BY started_utc, session.uid";

// Presets and the standing winner are proposed first: no session has more of them, and what follows need not be read.
constexpr std::int64_t kKnownProposals = 64;
constexpr const char* kKnownTrial =
    "SELECT median_us FROM trial WHERE session_id = ? AND proposal < ? AND origin = ? AND outcome = 'ok' ORDER BY recorded_utc DESC, id DESC LIMIT 1";

std::vector<std::string> texts(const std::string& json) {
  const auto list = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> out;
  if (!list.is_array()) return out;
  for (const auto& text : list) {
    if (text.is_string()) out.push_back(text.get<std::string>());
  }
  return out;
}

std::string objective_of(const std::string& identity) {
  const auto json = nlohmann::json::parse(identity, nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("objective") && json["objective"].is_string() ? json["objective"].get<std::string>() : "time";
}

SessionHistory read(sqlite::Database& database, const std::set<std::string>& kernels) {
  sqlite::Statement select(database, kSessions);
  sqlite::Statement winner(database,
                           "SELECT configuration.json, median_us, objective FROM winner JOIN configuration ON configuration.id = configuration_id "
                           "WHERE winner.id = ?");
  sqlite::Statement known(database, kKnownTrial);
  const auto median_of = [&](std::int64_t session, const char* origin) -> std::optional<double> {
    sqlite::Statement::Run row = known.run(session, kKnownProposals, origin);
    return row.next() ? row.optional_real(0) : std::nullopt;
  };
  SessionHistory history;
  sqlite::Statement::Run row = select.run(kernels.empty(), nlohmann::json(kernels).dump());
  while (row.next()) {
    SessionSummary& session = history.sessions.emplace_back();
    session.id = row.text(1);
    session.kernel = row.text(2);
    session.kernel_hash = row.text(3);
    session.device = Device::from_json(nlohmann::json::parse(row.text(4)));
    session.device_key = row.text(5);
    session.problem = Problem::from_json(nlohmann::ordered_json::parse(row.text(6)), "problem in the book");
    session.toolchain = row.text(7);
    session.method = row.text(8);
    session.objective = objective_of(row.text(9));
    session.strategy = row.text(10);
    session.budget = row.text(11);
    session.seed = std::bit_cast<std::uint64_t>(row.integer(12));
    session.where = texts(row.text(13));
    session.started = seconds_of_utc(row.text(14));
    if (!row.is_null(15)) session.finished = seconds_of_utc(row.text(15));
    session.wall_seconds = row.real(16);
    session.trials = row.integer(17);
    if (!row.is_null(18)) {
      sqlite::Statement::Run found = winner.run(row.integer(18));
      if (found.next()) {
        session.winner = found.text(0);
        session.winner_us = found.optional_real(1);
        session.objective = found.text(2);
      }
    }
    if (session.trials > 0) {
      session.default_us = median_of(row.integer(0), "preset:default");
      session.standing_us = median_of(row.integer(0), "standing_winner");
    }
  }
  return history;
}

}  // namespace

double seconds_of_utc(const std::string& text) {
  std::tm utc{};
  double second = 0;
  int end = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%lf%n", &utc.tm_year, &utc.tm_mon, &utc.tm_mday, &utc.tm_hour, &utc.tm_min, &second, &end) != 6 ||
      !(second >= 0 && second < 61)) {
    return 0;
  }
  utc.tm_year -= 1900;
  utc.tm_mon -= 1;
  return static_cast<double>(timegm(&utc)) + second;
}

SessionHistory read_session_history(const std::filesystem::path& path, const std::set<std::string>& kernels) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  return BookReader(path).read([&](sqlite::Database& database) { return read(database, kernels); });
}

}  // namespace tunebook
