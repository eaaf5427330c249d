#include "db/session_history.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "db/publish.h"
#include "db/store.h"

namespace tunebook::testing {
namespace {

using SessionHistoryTest = BookTest;

TEST_F(SessionHistoryTest, EveryFieldOfASession) {
  Store store(file());
  const TrialContext context = some_context();
  SessionRecord proposed = some_session(18'446'744'073'709'551'615U);
  proposed.where = {"BM >= 32", "BM < 64"};
  const SessionRecord opened = store.open_session(context, proposed, false);
  TrialRecord preset = timed_trial(0, tile(16), 80);
  preset.origin = "preset:default";
  store.record_trial(opened.id, context, opened.problem, preset);
  TrialRecord standing = timed_trial(1, tile(64), 60);
  standing.origin = "standing_winner";
  store.record_trial(opened.id, context, opened.problem, standing);
  store.record_trial(opened.id, context, opened.problem, timed_trial(2, tile(32), 50));
  store.record_winner(context, opened.problem, some_winner(opened.id, tile(32), 49.5));
  store.finish_session(opened.id, 12.5);

  const SessionHistory history = read_session_history(file());
  ASSERT_EQ(history.sessions.size(), 1U);
  const SessionSummary& session = history.sessions[0];
  EXPECT_EQ(session.id, opened.id);
  EXPECT_EQ(session.kernel, context.kernel);
  EXPECT_EQ(session.kernel_hash, context.kernel_hash);
  EXPECT_EQ(session.device_key, context.device.key());
  EXPECT_EQ(session.device.key(), context.device.key());
  EXPECT_EQ(session.problem, proposed.problem);
  EXPECT_EQ(session.toolchain, context.toolchain);
  EXPECT_EQ(session.method, context.method);
  EXPECT_EQ(session.objective, "time");
  EXPECT_EQ(session.strategy, proposed.strategy);
  EXPECT_EQ(session.budget, proposed.budget);
  EXPECT_EQ(session.seed, proposed.seed);
  EXPECT_EQ(session.where, proposed.where);
  EXPECT_GT(session.started, 1.7e9);
  ASSERT_TRUE(session.finished);
  EXPECT_GE(*session.finished, session.started);
  EXPECT_EQ(session.wall_seconds, 12.5);
  EXPECT_EQ(session.trials, 3);
  EXPECT_EQ(session.winner, tile(32).canonical());
  EXPECT_EQ(session.winner_us, 49.5);
  EXPECT_EQ(session.default_us, 80);
  EXPECT_EQ(session.standing_us, 60);
}

TEST_F(SessionHistoryTest, UnfinishedSessionsAndThoseOfSomeKernels) {
  Store store(file());
  TrialContext other = some_context();
  other.kernel = "other";
  store.open_session(some_context(), some_session(), false);
  store.open_session(other, some_session(), false);
  EXPECT_EQ(read_session_history(file()).sessions.size(), 2U);
  const SessionHistory one = read_session_history(file(), {"other", "none"});
  ASSERT_EQ(one.sessions.size(), 1U);
  EXPECT_EQ(one.sessions[0].kernel, "other");
  EXPECT_EQ(one.sessions[0].finished, std::nullopt);
  EXPECT_EQ(one.sessions[0].winner, "");
  EXPECT_EQ(one.sessions[0].default_us, std::nullopt);
}

TEST_F(SessionHistoryTest, NoBookNoneThatIsABookAndAPublishedOne) {
  EXPECT_TRUE(read_session_history(file("missing.db")).sessions.empty());
  EXPECT_FALSE(std::filesystem::exists(file("missing.db")));
  EXPECT_NE(error_of([&] { read_session_history(folder_); }), "");
  {
    Store store(file());
    add_finished_session(store, some_context(), matmul_problem(64, 64, 64), tile(32), 50);
  }
  publish_book(file(), file("published.db"));
  const SessionHistory published = read_session_history(file("published.db"));
  ASSERT_EQ(published.sessions.size(), 1U);
  EXPECT_EQ(published.sessions[0].trials, 0);
  EXPECT_EQ(published.sessions[0].winner, tile(32).canonical());
}

TEST(SecondsOfUtc, IsoText) {
  EXPECT_DOUBLE_EQ(seconds_of_utc("2027-01-15T08:00:00.250000Z"), 1'800'000'000.25);
  EXPECT_DOUBLE_EQ(seconds_of_utc("1970-01-01T00:00:01Z"), 1);
  EXPECT_EQ(seconds_of_utc(""), 0);
  EXPECT_EQ(seconds_of_utc("yesterday"), 0);
}

}  // namespace
}  // namespace tunebook::testing
