// Sessions that come from applications.

#include <bit>
#include <cstdint>
#include <string>

#include "core/json_text.h"
#include "db/store_impl.h"

namespace tunebook {

bool Store::add_learned_session(const TrialContext& context, const SessionRecord& session, const std::vector<TrialRecord>& trials) {
  const std::string identity_text = to_book_text(session.identity);
  const Hash identity = session_identity(context, identity_text);
  return impl_->write([&] {
    sqlite::Database& database = impl_->database;
    if (sqlite::Statement(database, "SELECT 1 FROM session WHERE uid = ?").run(session.id).next()) return false;
    const std::int64_t environment = impl_->interner.environment(context.environment);
    sqlite::Statement insert(database,
                             "INSERT INTO session (uid, identity_hash, identity_json, kernel_id, device_id, problem_id, environment_id, "
                             "toolchain, method, strategy, seed, budget, where_json, standing_winner, wall_seconds, started_utc, "
                             "finished_utc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
    std::int64_t row = 0;
    {
      sqlite::Statement::Run inserted = insert.run(
          session.id, as_blob(identity), identity_text, impl_->interner.kernel(context), impl_->interner.device(context.device),
          impl_->interner.problem(session.problem), environment, context.toolchain, context.method, session.strategy,
          std::bit_cast<std::int64_t>(session.seed), session.budget, to_book_text(nlohmann::json(session.where)),
          session.standing_winner, session.wall_seconds, session.started_utc, session.started_utc);
      inserted.next();
      row = inserted.integer(0);
    }
    for (const TrialRecord& trial : trials) {
      impl_->add_trial(trial_key(context, session.problem, trial.configuration), row, impl_->interner.configuration(trial.configuration),
                       environment, session.started_utc, trial);
    }
    return true;
  });
}

std::optional<nlohmann::ordered_json> Store::kernel_spec(const std::string& kernel, const std::string& hash) const {
  return impl_->read([&]() -> std::optional<nlohmann::ordered_json> {
    sqlite::Statement select(impl_->database, "SELECT spec FROM kernel WHERE name = ? AND hash = ?");
    sqlite::Statement::Run row = select.run(kernel, hash);
    if (!row.next()) return std::nullopt;
    return parse_json_text(row.text(0), "the declaration of kernel " + kernel + " in " + impl_->path.string());
  });
}

std::optional<Device> Store::find_device(const std::string& key) const {
  return impl_->read([&]() -> std::optional<Device> {
    sqlite::Statement select(impl_->database, "SELECT json FROM device WHERE key = ?");
    sqlite::Statement::Run row = select.run(key);
    if (!row.next()) return std::nullopt;
    return Device::from_json(parse_json_text(row.text(0), "device " + key));
  });
}

}  // namespace tunebook
