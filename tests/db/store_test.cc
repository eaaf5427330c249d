#include "db/store.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/error.h"

namespace tunebook::testing {
namespace {

using StoreTest = BookTest;

TEST_F(StoreTest, KeepsEveryFieldOfATrial) {
  Store store(file());
  const TrialContext context = some_context();
  const SessionRecord session = store.open_session(context, some_session(), false);
  TrialRecord trial = timed_trial(7, tile(32, true), 12.75);
  trial.origin = "preset:tiled";
  trial.outcome = Outcome::abandoned;
  trial.message = "slower than 3x the best";
  trial.resources.blocks_per_sm = 4;
  trial.resources.spill_load_bytes = 16;
  trial.skipped_problems = 2;
  trial.launch_us = 1.25;
  trial.energy_j = 0.125;
  trial.conditions = {1980, std::nullopt, 41.5, 612, "power cap", 3};
  store.record_trial(session.id, context, session.problem, trial);

  const auto found = Store(file()).find_trial(context, session.problem, trial.configuration);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->skipped_problems, 2);
  EXPECT_EQ(found->launch_us, 1.25);
  EXPECT_EQ(found->energy_j, 0.125);
  EXPECT_EQ(found->conditions.sm_clock_mhz, 1980);
  EXPECT_EQ(found->conditions.memory_clock_mhz, std::nullopt);
  EXPECT_EQ(found->conditions.temperature_c, 41.5);
  EXPECT_EQ(found->conditions.power_w, 612);
  EXPECT_EQ(found->conditions.throttled, "power cap");
  EXPECT_EQ(found->conditions.retaken_batches, 3);
  EXPECT_EQ(found->order, 7);
  EXPECT_EQ(found->origin, "preset:tiled");
  EXPECT_EQ(found->configuration, trial.configuration);
  EXPECT_EQ(found->outcome, Outcome::abandoned);
  EXPECT_EQ(found->message, trial.message);
  EXPECT_EQ(found->resources.to_json(), trial.resources.to_json());
  EXPECT_EQ(found->median_us, trial.median_us);
  EXPECT_EQ(found->min_us, trial.min_us);
  EXPECT_EQ(found->ci_low_us, trial.ci_low_us);
  EXPECT_EQ(found->ci_high_us, trial.ci_high_us);
  EXPECT_EQ(found->samples_us, trial.samples_us);
  EXPECT_EQ(found->launches_per_sample, 8);
  EXPECT_EQ(found->verified_problems, 3);
  EXPECT_EQ(found->verify_max_error, 0.125);
  EXPECT_EQ(found->compile_seconds, 1.5);
  EXPECT_EQ(found->verify_seconds, 0.25);
  EXPECT_EQ(found->time_seconds, 0.5);
  EXPECT_FALSE(found->reused);
}

TEST_F(StoreTest, KeepsUnusualNumbers) {
  Store store(file());
  const TrialContext context = some_context();
  SessionRecord proposed = some_session(std::numeric_limits<std::uint64_t>::max());
  const SessionRecord session = store.open_session(context, proposed, false);
  EXPECT_EQ(session.seed, std::numeric_limits<std::uint64_t>::max());
  TrialRecord trial = failed_trial(0, tile(16), Outcome::wrong_result);
  trial.verify_max_error = std::numeric_limits<double>::infinity();
  store.record_trial(session.id, context, session.problem, trial);
  EXPECT_EQ(store.find_trial(context, session.problem, tile(16))->verify_max_error, trial.verify_max_error);
  EXPECT_EQ(store.find_trial(context, session.problem, tile(16))->median_us, std::nullopt);
  trial.verify_max_error = std::numeric_limits<double>::quiet_NaN();
  store.record_trial(session.id, context, session.problem, trial);
  EXPECT_TRUE(std::isnan(store.find_trial(context, session.problem, tile(16))->verify_max_error));
}

TEST_F(StoreTest, SamplesAreLittleEndianDoubles) {
  {
    Store store(file());
    const TrialContext context = some_context();
    const SessionRecord session = store.open_session(context, some_session(), false);
    TrialRecord trial = timed_trial(0, tile(16), 1);
    trial.samples_us = {1.0, -2.5};
    store.record_trial(session.id, context, session.problem, trial);
  }
  EXPECT_EQ(query_text(file(), "SELECT hex(samples_us) FROM trial"), "000000000000F03F00000000000004C0");
}

TEST_F(StoreTest, HostileStringsAreOnlyData) {
  const std::string hostile = "'); DROP TABLE trial; --\n\"\\\x01 \xc3\xa9 <script>";
  Store store(file("it's a 100% #book?.db"));
  TrialContext context = some_context();
  context.kernel = hostile;
  context.kernel_hash = hostile;
  context.device.name = hostile;
  context.toolchain = hostile + std::string("\0after", 6);
  context.environment = {{hostile, "\xff\xfe not UTF-8"}};
  SessionRecord proposed = some_session();
  proposed.problem.set("dtype", hostile);
  proposed.where = {hostile};
  proposed.standing_winner = hostile;
  const SessionRecord session = store.open_session(context, proposed, false);
  EXPECT_EQ(session.problem, proposed.problem);
  EXPECT_EQ(session.where, proposed.where);
  EXPECT_EQ(session.standing_winner, hostile);
  TrialRecord trial = failed_trial(0, {}, Outcome::compile_error);
  trial.configuration.set(hostile, hostile);
  trial.message = hostile + std::string("\0after \xff", 8);
  store.record_trial(session.id, context, proposed.problem, trial);
  const auto found = store.find_trial(context, proposed.problem, trial.configuration);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->message, trial.message);
  EXPECT_EQ(store.session_trials(session.id).at(0).configuration, trial.configuration);
  EXPECT_TRUE(store.check().problems.empty());
  EXPECT_TRUE(std::filesystem::exists(file("it's a 100% #book?.db")));
}

TEST_F(StoreTest, EachPartOfTheIdentityMakesAnotherTrial) {
  Store store(file());
  const TrialContext context = some_context();
  const SessionRecord session = store.open_session(context, some_session(), false);
  store.record_trial(session.id, context, session.problem, timed_trial(0, tile(16), 5));
  EXPECT_TRUE(store.find_trial(context, session.problem, tile(16)));

  const std::vector<std::function<void(TrialContext&)>> changes = {
      [](TrialContext& other) { other.kernel = "matmul2"; },
      [](TrialContext& other) { other.kernel_hash = "hash-2"; },
      [](TrialContext& other) { other.device.name = "NVIDIA H200 MIG 1g.18gb"; },
      [](TrialContext& other) { other.device.memory_gib = 80; },
      [](TrialContext& other) { other.toolchain += " -lineinfo"; },
      [](TrialContext& other) { other.method = "warm/1"; },
      [](TrialContext& other) { other.method = "cold/2"; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    TrialContext other = context;
    changes[i](other);
    EXPECT_FALSE(store.find_trial(other, session.problem, tile(16))) << "change " << i;
  }
  EXPECT_FALSE(store.find_trial(context, matmul_problem(64, 64, 65), tile(16)));
  EXPECT_FALSE(store.find_trial(context, session.problem, tile(16, true)));

  TrialContext same = context;
  same.environment = {{"host", "elsewhere"}};
  same.device.limits.l2_bytes = 1;
  EXPECT_TRUE(store.find_trial(same, session.problem, tile(16)));
  Configuration reordered;
  reordered.set("PAD", false);
  reordered.set("BM", std::int64_t{16});
  EXPECT_TRUE(store.find_trial(same, session.problem, reordered));
}

TEST_F(StoreTest, FailuresOfChanceAreRetriedOnce) {
  Store store(file());
  const TrialContext context = some_context();
  const SessionRecord session = store.open_session(context, some_session(), false);
  const auto find = [&](const Configuration& configuration) {
    return store.find_trial(context, session.problem, configuration);
  };
  const auto record = [&](std::int64_t order, const Configuration& configuration, Outcome outcome) {
    store.record_trial(session.id, context, session.problem, failed_trial(order, configuration, outcome));
  };
  std::int64_t order = 0;
  for (const Outcome outcome : {Outcome::worker_lost, Outcome::run_timeout, Outcome::compile_timeout}) {
    Configuration configuration;
    configuration.set("BM", order);
    record(order, configuration, outcome);
    EXPECT_FALSE(find(configuration)) << outcome_name(outcome);
    record(order, configuration, outcome);
    ASSERT_TRUE(find(configuration)) << outcome_name(outcome);
    EXPECT_EQ(find(configuration)->outcome, outcome);
    ++order;
  }
  // Other failures are an answer at once.
  for (const Outcome outcome : kOutcomes) {
    if (outcome != Outcome::worker_lost && outcome != Outcome::run_timeout && outcome != Outcome::compile_timeout) {
      Configuration configuration;
      configuration.set("BM", order);
      record(order++, configuration, outcome);
      ASSERT_TRUE(find(configuration)) << outcome_name(outcome);
      EXPECT_EQ(find(configuration)->outcome, outcome);
    }
  }
  // The retry's result counts; a single later failure leaves it the answer.
  record(100, tile(64), Outcome::worker_lost);
  store.record_trial(session.id, context, session.problem, timed_trial(100, tile(64), 9));
  EXPECT_EQ(find(tile(64))->median_us, 9);
  record(101, tile(64), Outcome::worker_lost);
  EXPECT_EQ(find(tile(64))->median_us, 9);
  record(102, tile(64), Outcome::worker_lost);
  EXPECT_EQ(find(tile(64))->outcome, Outcome::worker_lost);
}

TEST_F(StoreTest, ACopyOfAResultIsNoSecondFailure) {
  Store store(file());
  const TrialContext context = some_context();
  const SessionRecord session = store.open_session(context, some_session(), false);
  TrialRecord trial = failed_trial(0, tile(16), Outcome::run_timeout);
  store.record_trial(session.id, context, session.problem, trial);
  const SessionRecord later = store.open_session(context, some_session(2), false);
  trial.reused = true;
  store.record_trial(later.id, context, session.problem, trial);
  EXPECT_FALSE(store.find_trial(context, session.problem, tile(16)));
  EXPECT_EQ(store.session_trials(later.id).size(), 1U);
  EXPECT_TRUE(store.session_trials(later.id).at(0).reused);
}

TEST_F(StoreTest, SessionTrialsAreOneRowPerProposalInOrder) {
  Store store(file());
  const TrialContext context = some_context();
  const SessionRecord session = store.open_session(context, some_session(), false);
  const auto record = [&](const TrialRecord& trial) { store.record_trial(session.id, context, session.problem, trial); };
  record(timed_trial(2, tile(64), 3));
  record(failed_trial(0, tile(16), Outcome::worker_lost));
  record(failed_trial(1, tile(32), Outcome::compile_error));
  record(timed_trial(0, tile(16), 4));  // tried again
  TrialRecord again = timed_trial(2, tile(64), 3);
  again.reused = true;
  record(again);  // met again by a resumed run
  const auto trials = store.session_trials(session.id);
  ASSERT_EQ(trials.size(), 3U);
  EXPECT_EQ(trials[0].median_us, 4);
  EXPECT_EQ(trials[1].outcome, Outcome::compile_error);
  EXPECT_EQ(trials[2].configuration.display(), "BM=64,PAD=false");
  EXPECT_FALSE(trials[2].reused);
  const std::vector<std::pair<Outcome, std::int64_t>> outcomes = {{Outcome::ok, 2}, {Outcome::compile_error, 1}};
  EXPECT_EQ(store.session_outcomes(session.id), outcomes);
}

TEST_F(StoreTest, ConfigurationsAreShownInDeclaredOrder) {
  Store store(file());
  TrialContext context = some_context();
  context.kernel_spec["parameters"] = nlohmann::ordered_json::parse(R"({"PAD": {}, "BM": {}})");
  const SessionRecord session = store.open_session(context, some_session(), false);
  EXPECT_EQ(session.problem.display(), "m=64,n=64,k=64,dtype=f32");
  store.record_trial(session.id, context, session.problem, timed_trial(0, tile(16), 3));
  EXPECT_EQ(store.session_trials(session.id).at(0).configuration.display(), "PAD=false,BM=16");
}

TEST_F(StoreTest, AnUnfinishedSessionIsTakenUp) {
  const TrialContext context = some_context();
  SessionRecord proposed = some_session();
  proposed.standing_winner = R"({"BM":16})";
  SessionRecord first;
  {
    Store store(file());
    first = store.open_session(context, proposed, false);
    EXPECT_EQ(first.id.size(), 32U);
    EXPECT_FALSE(first.finished);
    store.add_wall_seconds(first.id, 2.5);
  }
  Store store(file());
  proposed.standing_winner = R"({"BM":64})";  // the book has learnt something meanwhile
  const SessionRecord again = store.open_session(context, proposed, false);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.standing_winner, R"({"BM":16})");
  EXPECT_EQ(again.wall_seconds, 2.5);
  EXPECT_EQ(again.identity, proposed.identity);
  EXPECT_EQ(again.started_utc, first.started_utc);
  EXPECT_EQ(again.budget, "60");
  EXPECT_EQ(again.strategy, "random");

  store.finish_session(first.id, 1.5);
  const SessionRecord finished = store.open_session(context, proposed, false);
  EXPECT_EQ(finished.id, first.id);
  EXPECT_TRUE(finished.finished);
  EXPECT_EQ(finished.wall_seconds, 4.0);
  EXPECT_EQ(store.check().sessions, 1);
}

TEST_F(StoreTest, RemeasuringBeginsANewSessionAndResumesIt) {
  Store store(file());
  const TrialContext context = some_context();
  const std::string first = store.open_session(context, some_session(), false).id;
  store.finish_session(first, 1);
  const SessionRecord second = store.open_session(context, some_session(), true);
  EXPECT_NE(second.id, first);
  EXPECT_FALSE(second.finished);
  EXPECT_EQ(store.open_session(context, some_session(), true).id, second.id);
  EXPECT_EQ(store.open_session(context, some_session(), false).id, first) << "the finished one is the answer";
  EXPECT_EQ(store.find_session(context, some_session().identity)->id, second.id);
}

TEST_F(StoreTest, AnotherIdentityIsAnotherSession) {
  Store store(file());
  const TrialContext context = some_context();
  const std::string first = store.open_session(context, some_session(), false).id;
  EXPECT_NE(store.open_session(context, some_session(2), false).id, first);
  TrialContext other = context;
  other.kernel_hash = "hash-2";
  EXPECT_FALSE(store.find_session(other, some_session().identity));
  EXPECT_NE(store.open_session(other, some_session(), false).id, first);
  EXPECT_EQ(store.find_session(context, some_session().identity)->id, first);
}

TEST_F(StoreTest, UnknownSessionIsNamed) {
  Store store(file());
  EXPECT_THROW(store.session_trials("no such session"), InputError);
  EXPECT_NE(error_of([&] { store.finish_session("abc", 1); }).find("abc"), std::string::npos);
}

TEST_F(StoreTest, WinnersAreKeptWithTheirFinalists) {
  Store store(file());
  const TrialContext context = some_context();
  const SessionRecord session = store.open_session(context, some_session(), false);
  EXPECT_FALSE(store.session_winner(session.id));
  WinnerRecord winner = some_winner(session.id, tile(32), 10);
  winner.finalists.push_back(winner.finalists.front());
  winner.finalists.back().configuration = tile(64);
  winner.finalists.push_back(winner.finalists.front());
  winner.finalists.back().configuration = tile(16);
  winner.finalists.back().in_tie_set = false;
  winner.finalists.back().registers = -1;
  store.record_winner(context, session.problem, winner);
  const auto found = store.session_winner(session.id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->configuration, tile(32));
  EXPECT_EQ(found->median_us, 10);
  EXPECT_EQ(found->gflops, 1234.5);
  EXPECT_EQ(found->gbps, std::nullopt);
  ASSERT_EQ(found->finalists.size(), 3U);
  EXPECT_EQ(found->tie_set_size(), 2);
  EXPECT_EQ(found->finalists[1].configuration, tile(64));
  EXPECT_EQ(found->finalists[1].process_medians_us, winner.finalists[1].process_medians_us);
  EXPECT_EQ(found->finalists[1].shared_bytes, 4096);
  EXPECT_EQ(found->finalists[2].registers, -1);

  store.record_winner(context, session.problem, some_winner(session.id, tile(64), 9));
  EXPECT_EQ(store.session_winner(session.id)->configuration, tile(64)) << "the newest counts";
  EXPECT_EQ(store.check().winners, 2) << "and the older one is kept";
}

TEST_F(StoreTest, WinnersAreAppendOnly) {
  {
    Store store(file());
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32), 10);
  }
  for (const char* sql :
       {"UPDATE winner SET median_us = 1", "DELETE FROM winner", "UPDATE finalist SET median_us = 1", "DELETE FROM finalist",
        "INSERT OR REPLACE INTO winner SELECT * FROM winner", "INSERT OR REPLACE INTO finalist SELECT * FROM finalist"}) {
    EXPECT_EQ(run_sql(file(), sql), "winners are append-only") << sql;
  }
  EXPECT_EQ(query_text(file(), "SELECT count(*) || ' ' || median_us FROM winner"), "1 10.0");
}

TEST_F(StoreTest, AWinnerOfAnotherProblemIsRefused) {
  Store store(file());
  const TrialContext context = some_context();
  const SessionRecord session = store.open_session(context, some_session(), false);
  EXPECT_THROW(store.record_winner(context, matmul_problem(1, 1, 1), some_winner(session.id, tile(16), 1)),
               std::invalid_argument);
}

TEST_F(StoreTest, StandingWinnerIsTheLatestFinishedOne) {
  Store store(file());
  const TrialContext context = some_context();
  const Problem problem = matmul_problem(64, 64, 64);
  EXPECT_FALSE(store.standing_winner(context, problem));
  add_finished_session(store, context, problem, tile(32), 10, 1);
  EXPECT_EQ(store.standing_winner(context, problem)->configuration, tile(32));
  add_finished_session(store, context, problem, tile(64), 11, 2);
  EXPECT_EQ(store.standing_winner(context, problem)->configuration, tile(64));
  EXPECT_EQ(store.standing_winner(context, problem)->finalists.size(), 1U);

  const SessionRecord unfinished = store.open_session(context, some_session(3), false);
  store.record_winner(context, problem, some_winner(unfinished.id, tile(16), 1));
  EXPECT_EQ(store.standing_winner(context, problem)->configuration, tile(64));
  EXPECT_FALSE(store.standing_winner(context, matmul_problem(64, 64, 128)));
  for (const auto& change : std::vector<std::function<void(TrialContext&)>>{
           [](TrialContext& other) { other.kernel_hash = "hash-2"; }, [](TrialContext& other) { other.method = "warm/1"; },
           [](TrialContext& other) { other.device.sm_count = 1; }}) {
    TrialContext other = context;
    change(other);
    EXPECT_FALSE(store.standing_winner(other, problem));
  }
}

TEST_F(StoreTest, WinnersOfAnotherObjectiveStandApart) {
  Store store(file());
  const TrialContext context = some_context();
  const Problem problem = matmul_problem(64, 64, 64);
  add_finished_session(store, context, problem, tile(16), 10);
  SessionRecord proposed = some_session(9);
  proposed.problem = problem;
  const SessionRecord session = store.open_session(context, proposed, false);
  store.record_trial(session.id, context, problem, timed_trial(0, tile(32), 12));
  WinnerRecord winner = some_winner(session.id, tile(32), 12);
  winner.objective = "energy";
  winner.energy_j = 0.5;
  winner.finalists.front().energy_j = 0.5;
  winner.finalists.front().sanitizer = "clean";
  store.record_winner(context, problem, winner);
  store.finish_session(session.id, 1);
  EXPECT_EQ(store.standing_winner(context, problem)->configuration, tile(16));
  const auto frugal = store.standing_winner(context, problem, "energy");
  ASSERT_TRUE(frugal);
  EXPECT_EQ(frugal->configuration, tile(32));
  EXPECT_EQ(frugal->objective, "energy");
  EXPECT_EQ(frugal->energy_j, 0.5);
  EXPECT_EQ(frugal->finalists.front().energy_j, 0.5);
  EXPECT_EQ(frugal->finalists.front().sanitizer, "clean");
}

TEST_F(StoreTest, ProfilesBelongToTheNewestTrialOfTheirProposal) {
  Store store(file());
  const TrialContext context = some_context();
  const SessionRecord session = store.open_session(context, some_session(), false);
  store.record_trial(session.id, context, session.problem, timed_trial(3, tile(16), 10));
  store.record_profile(session.id, {3, "ncu 1", {{"bank_conflicts", 12.5}}, ""});
  EXPECT_NE(error_of([&] { store.record_profile(session.id, {4, "ncu 1", {}, ""}); }).find("has no trial 4"), std::string::npos);
  const auto profiles = store.session_profiles(session.id);
  ASSERT_EQ(profiles.size(), 1u);
  EXPECT_EQ(profiles[0].order, 3);
  EXPECT_EQ(profiles[0].tool, "ncu 1");
  EXPECT_EQ(profiles[0].metrics["bank_conflicts"], 12.5);
  EXPECT_FALSE(profiles[0].recorded_utc.empty());
}

TEST_F(StoreTest, TheNewestCeilingOfEachKindCounts) {
  Store store(file());
  const Device device = some_gpu();
  EXPECT_TRUE(store.ceilings(device).empty());
  const std::vector<Ceiling> first = {{"copy", 1024, "cold/2", 100, 99, 101}, {"fma_f32", 0, "cold/2", 5e4, 4.9e4, 5.1e4}};
  store.record_ceilings(device, {{"driver", "1"}}, first);
  store.record_ceilings(device, {{"driver", "2"}}, {{"copy", 1024, "cold/2", 110, 109, 111}, {"copy", 4096, "cold/2", 120, 119, 121}});
  Device other = device;
  other.name = "another";
  store.record_ceilings(other, {}, {{"copy", 1024, "cold/2", 1, 1, 1}});
  const std::vector<Ceiling> expected = {{"copy", 1024, "cold/2", 110, 109, 111}, {"copy", 4096, "cold/2", 120, 119, 121}, first[1]};
  EXPECT_EQ(store.ceilings(device), expected);
  EXPECT_EQ(Store::ceilings_in_file(file(), device), expected);
}

TEST_F(StoreTest, CeilingsOfNoBookAndOfOneFromBeforeThemAreNone) {
  EXPECT_TRUE(Store::ceilings_in_file(file(), some_gpu()).empty());
  EXPECT_FALSE(std::filesystem::exists(file()));
  const auto old = file().parent_path() / "old.db";
  std::filesystem::copy_file(std::filesystem::path(TUNEBOOK_SOURCE_DIR) / "tests/data/books/version_1.db", old);
  EXPECT_TRUE(Store::ceilings_in_file(old, some_gpu()).empty());
}

TEST_F(StoreTest, ManyConfigurationsStayFoundAndConsistent) {
  constexpr std::int64_t kCount = 5000;
  Store store(file());
  const TrialContext context = some_context();
  const SessionRecord session = store.open_session(context, some_session(), false);
  for (std::int64_t i = 0; i < kCount; ++i) {
    Configuration configuration;
    configuration.set("BM", i);
    store.record_trial(session.id, context, session.problem, timed_trial(i, configuration, static_cast<double>(i)));
  }
  for (std::int64_t i = 0; i < kCount; i += 97) {
    Configuration configuration;
    configuration.set("BM", i);
    EXPECT_EQ(store.find_trial(context, session.problem, configuration)->median_us, static_cast<double>(i));
  }
  const Store::Health health = store.check();
  EXPECT_TRUE(health.problems.empty());
  EXPECT_EQ(health.trials, kCount);
  EXPECT_EQ(health.kernels, 1);
  EXPECT_EQ(health.devices, 1);
}

TEST_F(StoreTest, DefaultPathFollowsTheEnvironment) {
  EXPECT_EQ(default_book_path("given.db"), "given.db");
  setenv("TUNEBOOK_BOOK", "/b/own.db", 1);
  EXPECT_EQ(default_book_path(""), "/b/own.db");
  EXPECT_EQ(default_book_path("given.db"), "given.db");
  unsetenv("TUNEBOOK_BOOK");
  setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(default_book_path(""), "/data/tunebook/book.db");
  unsetenv("XDG_DATA_HOME");
  setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(default_book_path(""), "/home/someone/.local/share/tunebook/book.db");
}

TEST_F(StoreTest, TheNewestBaselineOfASessionCounts) {
  Store store(file());
  const std::string session = store.open_session(some_context(), some_session(), false).id;
  EXPECT_FALSE(store.session_baseline(session));
  BaselineRecord baseline;
  baseline.operation = "gemm";
  baseline.state = BaselineState::unavailable;
  baseline.message = "no cuBLAS was found";
  store.record_baseline(session, baseline);
  ASSERT_TRUE(store.session_baseline(session));
  EXPECT_EQ(store.session_baseline(session)->state, BaselineState::unavailable);
  EXPECT_FALSE(store.session_baseline(session)->median_us);
  baseline = {"gemm", BaselineState::ok, "cuBLAS 13.0.2", "cublasGemmEx", "cold/2", {63.5, 63.25}, 63.375, 63.25, 63.5};
  store.record_baseline(session, baseline);
  const auto found = store.session_baseline(session);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->operation, "gemm");
  EXPECT_EQ(found->state, BaselineState::ok);
  EXPECT_EQ(found->name, "cuBLAS 13.0.2");
  EXPECT_EQ(found->message, "cublasGemmEx");
  EXPECT_EQ(found->method, "cold/2");
  EXPECT_EQ(found->process_medians_us, (std::vector<double>{63.5, 63.25}));
  EXPECT_EQ(found->median_us, 63.375);
  EXPECT_EQ(found->ci_low_us, 63.25);
  EXPECT_EQ(found->ci_high_us, 63.5);
  EXPECT_NE(error_of([&] { store.record_baseline("no such session", baseline); }), "");
}

// What is recorded later is the newest, also if the clock was a day ahead before.
TEST_F(StoreTest, TheOrderOfRecordingHoldsThoughTheClockIsSetBack) {
  constexpr const char* kTomorrow = "2999-12-31T23:59:59.999999Z";
  const TrialContext context = some_context();
  std::string session;
  {
    Store store(file());
    const SessionRecord opened = store.open_session(context, some_session(), false);
    session = opened.id;
    store.record_trial(session, context, opened.problem, failed_trial(0, tile(16), Outcome::worker_lost));
    store.record_winner(context, opened.problem, some_winner(session, tile(16), 10));
    store.record_baseline(session, {"gemm", BaselineState::failed, "", "", "cold/1", {}, {}, {}, {}});
    store.record_ceilings(context.device, context.environment, {{"copy", 1, "cold/1", 1, 1, 1}});
    store.finish_session(session, 1);
  }
  for (const char* const table : {"trial", "winner", "baseline", "ceiling"}) {
    // Winners may not be changed.
    ASSERT_EQ(run_sql(file(), std::string("DROP TRIGGER IF EXISTS winner_no_update; UPDATE ") + table + " SET recorded_utc = '" + kTomorrow + "'"), "");
  }
  ASSERT_EQ(run_sql(file(), std::string("UPDATE session SET started_utc = '") + kTomorrow + "'"), "");
  Store store(file());
  const Problem problem = matmul_problem(64, 64, 64);
  store.record_trial(session, context, problem, timed_trial(0, tile(16), 5));
  store.record_winner(context, problem, some_winner(session, tile(32), 20));
  store.record_baseline(session, {"gemm", BaselineState::ok, "", "", "cold/1", {}, {}, {}, {}});
  store.record_ceilings(context.device, context.environment, {{"copy", 1, "cold/1", 2, 2, 2}});
  EXPECT_EQ(store.session_trials(session).at(0).median_us, 5);
  EXPECT_EQ(store.find_trial(context, problem, tile(16))->median_us, 5);
  EXPECT_EQ(store.session_winner(session)->configuration, tile(32));
  EXPECT_EQ(store.session_baseline(session)->state, BaselineState::ok);
  EXPECT_EQ(store.ceilings(context.device).at(0).rate, 2);
  // A session that measures again is the one that is resumed.
  const SessionRecord again = store.open_session(context, some_session(), true);
  EXPECT_NE(again.id, session);
  EXPECT_EQ(store.open_session(context, some_session(), true).id, again.id);
  EXPECT_EQ(query_text(file(), "SELECT max(recorded_utc) FROM trial"), "3000-01-01T00:00:00.000000Z");
}

}  // namespace
}  // namespace tunebook::testing
