#include "growing_book.h"

#include <fmt/format.h>

#include "book_fixture.h"
#include "db/sqlite.h"
#include "db/store.h"

namespace tunebook::testing {
namespace {

TrialContext random_context(Dice& dice) {
  TrialContext context = some_context();
  context.kernel = dice.one_of<std::string>({"matmul", "other"});
  context.kernel_hash = fmt::format("hash-{}", 1 + dice.below(3));
  // Another Tunebook's normal form of the same declaration, with more or fewer words.
  if (dice.chance(20)) context.kernel_spec["summary"] = dice.one_of<std::string>({"c = a * b, again", "c := ab"});
  context.device.name = dice.one_of<std::string>({"NVIDIA H200", "NVIDIA A100"});
  if (dice.chance(20)) context.device.limits.l2_bytes = 1 + dice.below(3) * 1000;
  context.method = dice.one_of<std::string>({"cold/1", "warm/1"});
  context.environment = {{"host", dice.one_of<std::string>({"here", "there"})}, {"driver", dice.one_of<std::string>({"580.1", "590.2"})}};
  return context;
}

// Both parameters, so that numbers far apart are different configurations.
Configuration numbered(std::int64_t number) {
  Configuration configuration;
  configuration.set("BM", number);
  configuration.set("PAD", number % 2 == 0);
  return configuration;
}

TrialRecord random_trial(Dice& dice, std::int64_t order) {
  const Configuration configuration = numbered(dice.below(20));
  const double median_us = 1 + static_cast<double>(dice.below(8));
  TrialRecord trial = dice.chance(75) ? timed_trial(order, configuration, median_us)
                                      : failed_trial(order, configuration, dice.one_of<Outcome>({Outcome::worker_lost, Outcome::wrong_result}));
  trial.origin = dice.chance(20) ? "preset:default" : "strategy";
  trial.resources.registers = dice.chance(20) ? -1 : 16 + dice.below(200);
  trial.reused = dice.chance(20);
  return trial;
}

void grow_session(Dice& dice, Store& store) {
  const TrialContext context = random_context(dice);
  SessionRecord proposed = some_session(static_cast<std::uint64_t>(dice.below(3)));
  proposed.problem = matmul_problem(16 << dice.below(2), 64, 64);
  proposed.identity["problem"] = proposed.problem.display();
  const SessionRecord session = store.open_session(context, proposed, dice.chance(10));
  if (session.finished) return;
  const std::int64_t first = static_cast<std::int64_t>(store.session_trials(session.id).size());
  for (std::int64_t i = 0; i < 1 + dice.below(12); ++i) {
    // Some are tried a second time.
    store.record_trial(session.id, context, session.problem, random_trial(dice, dice.chance(15) ? dice.below(first + 1) : first + i));
  }
  if (dice.chance(40)) store.record_baseline(session.id, {"gemm", BaselineState::ok, "cuBLAS", "", "cold/1", {1, 2}, 1.5, 1.0, 2.0});
  if (dice.chance(40)) {
    const auto trials = store.session_trials(session.id);
    store.record_profile(session.id, {dice.one_of(trials).order, "ncu 2025", {{"conflicts", dice.below(9)}}, ""});
  }
  if (dice.chance(60)) {
    WinnerRecord winner = some_winner(session.id, numbered(dice.below(20)), 1 + static_cast<double>(dice.below(9)));
    winner.objective = dice.chance(80) ? "time" : "energy";
    if (dice.chance(50)) winner.finalists.push_back(some_winner(session.id, numbered(dice.below(20)), 7).finalists.front());
    store.record_winner(context, session.problem, winner);
  }
  const double wall_seconds = static_cast<double>(1 + dice.below(100));
  if (dice.chance(50)) {
    store.finish_session(session.id, wall_seconds);
  } else if (dice.chance(50)) {
    store.add_wall_seconds(session.id, wall_seconds);
  }
}

// A row that is there twice, as other programs may leave one.
void repeat_a_row(Dice& dice, const std::filesystem::path& path) {
  const std::string table = dice.one_of<std::string>({"trial", "baseline", "ceiling", "profile"});
  std::string columns;
  {
    sqlite::Database book(path, sqlite::Database::Mode::read_write);
    sqlite::Statement select(book, "SELECT group_concat(name) FROM pragma_table_info(?) WHERE name != 'id'");
    sqlite::Statement::Run row = select.run(table);
    row.next();
    columns = row.text(0);
  }
  EXPECT_EQ(run_sql(path, fmt::format("INSERT INTO {0} ({1}) SELECT {1} FROM {0} ORDER BY id LIMIT 1", table, columns)), "");
}

}  // namespace

void grow_book(Dice& dice, const std::filesystem::path& path, int steps) {
  {
    Store store(path);
    for (int step = 0; step < steps; ++step) {
      grow_session(dice, store);
      if (dice.chance(20)) {
        const TrialContext context = random_context(dice);
        store.record_ceilings(context.device, context.environment, {{"copy", 1 << 20, "cold/1", 4000, 3900, 4100}, {"fma_f32", 0, "cold/1", 6e4, 5e4, 7e4}});
      }
    }
  }
  if (dice.chance(30)) repeat_a_row(dice, path);
}

void copy_book(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
}

}  // namespace tunebook::testing
