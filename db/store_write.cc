#include <bit>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "core/error.h"
#include "db/store_impl.h"

namespace tunebook {
namespace {

std::string random_uid() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::optional<std::int64_t> known(std::int64_t value) { return value < 0 ? std::nullopt : std::optional(value); }

// The static and dynamic shared memory of a block, if either is known.
std::optional<std::int64_t> shared_bytes(std::optional<std::int64_t> fixed, std::optional<std::int64_t> dynamic) {
  if (!fixed && !dynamic) {
    return std::nullopt;
  }
  return fixed.value_or(0) + dynamic.value_or(0);
}

struct SessionRow {
  std::int64_t id = 0;
  bool finished = false;
};

// The session that answers or is taken up: a finished one answers, else the newest unfinished one goes on. With `remeasure`, only
// an unfinished one newer than every finished one goes on, and the newest one answers if it was finished since then.
std::optional<SessionRow> session_to_take(sqlite::Database& database, const Hash& identity, bool remeasure, const std::string& since_utc) {
  sqlite::Statement select(database,
                           "SELECT id, finished_utc IS NOT NULL AS finished, finished_utc FROM session WHERE identity_hash = ?1 "
                           "ORDER BY CASE WHEN ?2 THEN 0 ELSE finished END DESC, started_utc DESC, id DESC LIMIT 1");
  sqlite::Statement::Run row = select.run(as_blob(identity), remeasure);
  if (!row.next()) {
    return std::nullopt;
  }
  const SessionRow found{row.integer(0), row.integer(1) != 0};
  const bool answers = !remeasure || (!since_utc.empty() && found.finished && row.text(2) >= since_utc);
  return found.finished && !answers ? std::nullopt : std::optional(found);
}

void add_seconds(sqlite::Database& database, std::int64_t session, double wall_seconds) {
  sqlite::Statement(database, "UPDATE session SET wall_seconds = wall_seconds + ? WHERE id = ?").execute(wall_seconds, session);
}

// The text that `sql` gives for `id`; "" if it gives none.
template <class Id>
std::string text_of(sqlite::Database& database, const char* sql, const Id& id) {
  sqlite::Statement select(database, sql);
  sqlite::Statement::Run row = select.run(id);
  return row.next() ? row.text(0) : std::string();
}

struct WinnerResources {
  std::optional<std::int64_t> trial;
  std::optional<std::int64_t> registers;
  std::optional<std::int64_t> shared_bytes;
};

// The winner's trial in this session and what its kernel needs: a lookup compares that with another device's limits.
WinnerResources winner_resources(sqlite::Database& database, std::int64_t session, std::int64_t configuration,
                                 const WinnerRecord& winner) {
  WinnerResources resources;
  sqlite::Statement select(database,
                           "SELECT id, registers, shared_static_bytes, shared_dynamic_bytes FROM trial "
                           "WHERE session_id = ? AND configuration_id = ? ORDER BY recorded_utc DESC, id DESC LIMIT 1");
  sqlite::Statement::Run row = select.run(session, configuration);
  if (row.next()) {
    resources = {row.integer(0), row.optional_integer(1), shared_bytes(row.optional_integer(2), row.optional_integer(3))};
  }
  if (!winner.finalists.empty() && winner.finalists.front().configuration == winner.configuration) {
    const FinalistRecord& first = winner.finalists.front();
    resources.registers = first.registers >= 0 ? first.registers : resources.registers;
    resources.shared_bytes = first.shared_bytes >= 0 ? first.shared_bytes : resources.shared_bytes;
  }
  return resources;
}

// What a preset's block needs, for lookups that fall back on the preset.
void record_requirement(sqlite::Database& database, std::int64_t session, std::int64_t configuration, const Resources& needs) {
  const std::optional<std::int64_t> registers = known(needs.registers);
  const std::optional<std::int64_t> shared = shared_bytes(known(needs.shared_static_bytes), known(needs.shared_dynamic_bytes));
  if (!registers && !shared) {
    return;
  }
  sqlite::Statement(database,
                    "INSERT INTO requirement (kernel_id, configuration_id, device_id, registers, shared_bytes) "
                    "SELECT kernel_id, ?, device_id, ?, ? FROM session WHERE id = ? "
                    "ON CONFLICT DO UPDATE SET registers = excluded.registers, shared_bytes = excluded.shared_bytes")
      .execute(configuration, registers, shared, session);
}

}  // namespace

std::int64_t Store::Impl::session_row(const std::string& uid) {
  if (const auto known_id = session_ids.find(uid); known_id != session_ids.end()) {
    return known_id->second;
  }
  sqlite::Statement::Run row = find_session_id.run(uid);
  if (!row.next()) {
    throw InputError(fmt::format("book {}: it has no session {}", path.string(), uid));
  }
  return session_ids.emplace(uid, row.integer(0)).first->second;
}

SessionRecord Store::open_session(const TrialContext& context, const SessionRecord& proposed, bool remeasure,
                                  const std::string& answer_since_utc) {
  const std::string identity_text = to_book_text(proposed.identity);
  const Hash identity = session_identity(context, identity_text);
  return impl_->write([&] {
    // Interned in any case: a lookup gives presets and checks constraints by the specs of kernels that were only opened.
    const std::int64_t kernel = impl_->interner.kernel(context);
    if (const auto taken = session_to_take(impl_->database, identity, remeasure, answer_since_utc)) {
      return impl_->read_session(taken->id);
    }
    sqlite::Statement insert(impl_->database,
                             "INSERT INTO session (uid, identity_hash, identity_json, kernel_id, device_id, problem_id, "
                             "environment_id, toolchain, method, strategy, seed, budget, where_json, standing_winner, "
                             "wall_seconds, started_utc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?) RETURNING id");
    sqlite::Statement::Run row = insert.run(
        random_uid(), as_blob(identity), identity_text, kernel, impl_->interner.device(context.device),
        impl_->interner.problem(proposed.problem), impl_->interner.environment(context.environment), context.toolchain,
        context.method, proposed.strategy, std::bit_cast<std::int64_t>(proposed.seed), proposed.budget,
        to_book_text(nlohmann::json(proposed.where)), proposed.standing_winner,
        proposed.started_utc.empty()
            ? now_utc_after(text_of(impl_->database, "SELECT max(started_utc) FROM session WHERE identity_hash = ?", as_blob(identity)))
            : proposed.started_utc);
    row.next();
    return impl_->read_session(row.integer(0));
  });
}

void Store::finish_session(const std::string& session_id, double wall_seconds) {
  impl_->write([&] {
    const std::int64_t session = impl_->session_row(session_id);
    add_seconds(impl_->database, session, wall_seconds);
    sqlite::Statement(impl_->database, "UPDATE session SET finished_utc = ? WHERE id = ? AND finished_utc IS NULL")
        .execute(now_utc(), session);
    return 0;
  });
}

void Store::add_wall_seconds(const std::string& session_id, double wall_seconds) {
  impl_->write([&] {
    add_seconds(impl_->database, impl_->session_row(session_id), wall_seconds);
    return 0;
  });
}

void Store::Impl::add_trial(const Hash& key, std::int64_t session, std::int64_t configuration, std::int64_t environment,
                            const std::string& recorded_utc, const TrialRecord& trial) {
  const std::string samples = encode_doubles(trial.samples_us);
  const Resources& needs = trial.resources;
  insert_trial.execute(
      as_blob(key), session, configuration, environment, recorded_utc, trial.order,
      trial.origin, trial.reused, outcome_name(trial.outcome), trial.message, known(needs.registers),
      known(needs.shared_static_bytes), known(needs.shared_dynamic_bytes), known(needs.spill_load_bytes),
      known(needs.spill_store_bytes), known(needs.stack_bytes), known(needs.code_bytes), known(needs.max_threads_per_block),
      known(needs.blocks_per_sm), trial.verified_problems, trial.verify_max_error, trial.median_us, trial.min_us,
      trial.ci_low_us, trial.ci_high_us, sqlite::Blob{samples}, trial.launches_per_sample, trial.compile_seconds,
      trial.verify_seconds, trial.time_seconds, trial.skipped_problems, trial.launch_us, trial.energy_j,
      trial.conditions.sm_clock_mhz, trial.conditions.memory_clock_mhz, trial.conditions.temperature_c, trial.conditions.power_w,
      trial.conditions.throttled, trial.conditions.retaken_batches);
}

void Store::record_trial(const std::string& session_id, const TrialContext& context, const Problem& problem,
                         const TrialRecord& trial) {
  const Hash key = trial_key(context, problem, trial.configuration);
  impl_->write([&] {
    const std::int64_t session = impl_->session_row(session_id);
    const std::int64_t configuration = impl_->interner.configuration(trial.configuration);
    // A resumed session meets its own trials again.
    if (trial.reused && impl_->has_proposal.run(session, trial.order, configuration).next()) {
      return 0;
    }
    std::string last;
    {
      sqlite::Statement::Run row = impl_->last_of_proposal.run(session, trial.order);
      row.next();
      last = row.text(0);
    }
    impl_->add_trial(key, session, configuration, impl_->interner.environment(context.environment), now_utc_after(last), trial);
    if (trial.origin.starts_with("preset:")) {
      record_requirement(impl_->database, session, configuration, trial.resources);
    }
    return 0;
  });
}

void Store::record_winner(const TrialContext& context, const Problem& problem, const WinnerRecord& winner) {
  impl_->write([&] {
    sqlite::Database& database = impl_->database;
    const std::int64_t session = impl_->session_row(winner.session_id);
    // A winner is read through its session: one recorded for another kernel, device or problem would answer wrongly for ever.
    if (!sqlite::Statement(database, "SELECT 1 FROM session WHERE id = ? AND kernel_id = ? AND device_id = ? AND problem_id = ?")
             .run(session, impl_->interner.kernel(context), impl_->interner.device(context.device),
                  impl_->interner.problem(problem))
             .next()) {
      throw std::invalid_argument("record_winner: the session has another kernel, device or problem");
    }
    const std::int64_t configuration = impl_->interner.configuration(winner.configuration);
    const WinnerResources resources = winner_resources(database, session, configuration, winner);
    sqlite::Statement insert(database,
                             "INSERT INTO winner (session_id, trial_id, configuration_id, objective, median_us, ci_low_us, "
                             "ci_high_us, gflops, gbps, energy_j, registers, shared_bytes, recorded_utc) "
                             "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
    sqlite::Statement::Run row =
        insert.run(session, resources.trial, configuration, winner.objective, winner.median_us, winner.ci_low_us,
                   winner.ci_high_us, winner.gflops, winner.gbps, winner.energy_j, resources.registers, resources.shared_bytes,
                   now_utc_after(text_of(database, "SELECT max(recorded_utc) FROM winner WHERE session_id = ?", session)));
    row.next();
    const std::int64_t winner_id = row.integer(0);
    sqlite::Statement insert_finalist(database,
                                      "INSERT INTO finalist (winner_id, place, configuration_id, process_medians_us, median_us, "
                                      "ci_low_us, ci_high_us, in_tie_set, registers, shared_bytes, energy_j, sanitizer) "
                                      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    std::int64_t place = 0;
    for (const FinalistRecord& finalist : winner.finalists) {
      const std::string medians = encode_doubles(finalist.process_medians_us);
      insert_finalist.execute(winner_id, place++, impl_->interner.configuration(finalist.configuration), sqlite::Blob{medians},
                              finalist.median_us, finalist.ci_low_us, finalist.ci_high_us, finalist.in_tie_set,
                              known(finalist.registers), known(finalist.shared_bytes), finalist.energy_j, finalist.sanitizer);
    }
    return 0;
  });
}

void Store::record_baseline(const std::string& session_id, const BaselineRecord& baseline) {
  const std::string medians = encode_doubles(baseline.process_medians_us);
  impl_->write([&] {
    const std::int64_t session = impl_->session_row(session_id);
    sqlite::Statement(impl_->database,
                      "INSERT INTO baseline (session_id, operation, state, name, message, method, process_medians_us, median_us, ci_low_us, "
                      "ci_high_us, recorded_utc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .execute(session, baseline.operation, baseline_state_name(baseline.state), baseline.name, baseline.message,
                 baseline.method, sqlite::Blob{medians}, baseline.median_us, baseline.ci_low_us, baseline.ci_high_us,
                 now_utc_after(text_of(impl_->database, "SELECT max(recorded_utc) FROM baseline WHERE session_id = ?", session)));
    return 0;
  });
}

void Store::record_profile(const std::string& session_id, const ProfileRecord& profile) {
  impl_->write([&] {
    sqlite::Statement insert(impl_->database,
                             "INSERT INTO profile (trial_id, tool, json, recorded_utc) SELECT id, ?, ?, ? FROM trial "
                             "WHERE session_id = ? AND proposal = ? ORDER BY recorded_utc DESC, id DESC LIMIT 1 RETURNING id");
    if (!insert.run(profile.tool, to_book_text(profile.metrics), now_utc(), impl_->session_row(session_id), profile.order).next()) {
      throw InputError(fmt::format("book {}: session {} has no trial {}", impl_->path.string(), session_id, profile.order));
    }
    return 0;
  });
}

void Store::record_ceilings(const Device& device, const nlohmann::json& environment, const std::vector<Ceiling>& ceilings) {
  impl_->write([&] {
    const std::int64_t device_row = impl_->interner.device(device);
    const std::int64_t environment_row = impl_->interner.environment(environment);
    const std::string now =
        now_utc_after(text_of(impl_->database, "SELECT max(recorded_utc) FROM ceiling WHERE device_id = ?", device_row));
    sqlite::Statement insert(impl_->database,
                             "INSERT INTO ceiling (device_id, environment_id, what, bytes, method, rate, rate_low, rate_high, "
                             "recorded_utc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const Ceiling& ceiling : ceilings) {
      insert.execute(device_row, environment_row, ceiling.what, ceiling.bytes, ceiling.method, ceiling.rate, ceiling.low, ceiling.high,
                     now);
    }
    return 0;
  });
}

}  // namespace tunebook
