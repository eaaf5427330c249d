// What merging keeps, and merges that are stopped, killed, out of disk or not alone.

#include "db/merge.h"
#include "db/session_history.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "book_content.h"
#include "book_fixture.h"
#include "core/error.h"
#include "db/store.h"
#include "growing_book.h"
#include "support/synthetic_book.h"

namespace tunebook::testing {
namespace {

using Clock = std::chrono::steady_clock;

class MergeTest : public BookTest {
 protected:
  std::filesystem::path target() const { return file("all.db"); }
  std::int64_t number(const std::string& sql) const { return std::stoll(query_text(target(), sql)); }
};

TEST_F(MergeTest, ATrialMeasuredTwiceIsTwoAndOneMergedTwiceIsOne) {
  const TrialContext context = some_context();
  std::string session;
  {
    Store store(file());
    session = store.open_session(context, some_session(), false).id;
    // The same in everything but the time of recording.
    store.record_trial(session, context, matmul_problem(64, 64, 64), timed_trial(0, tile(32), 10));
    store.record_trial(session, context, matmul_problem(64, 64, 64), timed_trial(0, tile(32), 10));
  }
  copy_book(file(), file("copy.db"));
  const MergeResult result = merge_books({file(), file("copy.db")}, target());
  EXPECT_EQ(result.added.trials, 2);
  EXPECT_EQ(result.books[0].added.trials, 2);
  EXPECT_EQ(result.books[1].added.trials, 0);
  EXPECT_EQ(number("SELECT count(*) FROM trial"), 2);
  EXPECT_EQ(Store(target()).session_trials(session).size(), 1U) << "one proposal";

  // On another machine, in a session of its own.
  {
    Store other(file("other.db"));
    add_finished_session(other, context, matmul_problem(64, 64, 64), tile(32), 10);
  }
  EXPECT_EQ(merge_books({file("other.db")}, target()).added.trials, 1);
}

TEST_F(MergeTest, SpecsOfTheSameNameAndAnotherHashAreKeptApart) {
  TrialContext context = some_context();
  for (const char* const hash : {"hash-1", "hash-2"}) {
    context.kernel_hash = hash;
    context.kernel_spec["summary"] = std::string("version ") + hash;
    Store store(file(std::string(hash) + ".db"));
    add_finished_session(store, context, matmul_problem(64, 64, 64), tile(hash[5] == '1' ? 16 : 32), 10);
  }
  EXPECT_EQ(merge_books({file("hash-2.db"), file("hash-1.db")}, target()).added.kernels, 2);
  EXPECT_EQ(query_text(target(), "SELECT group_concat(name || ' ' || hash || ' ' || (spec ->> 'summary'), ', ') FROM (SELECT * FROM kernel ORDER BY id)"),
            "matmul hash-1 version hash-1, matmul hash-2 version hash-2")
      << "in the order in which they were first seen";
  const Store store(target());
  EXPECT_EQ(store.standing_winner(context, matmul_problem(64, 64, 64))->configuration.display(), "BM=32,PAD=false");
  context.kernel_hash = "hash-1";
  EXPECT_EQ(store.standing_winner(context, matmul_problem(64, 64, 64))->configuration.display(), "BM=16,PAD=false");
}

// Copies of a book that were made while its session ran, and the book at its end: whichever comes first, the end counts.
TEST_F(MergeTest, ALaterCopyExtendsASession) {
  const TrialContext context = some_context();
  std::string session;
  std::vector<std::filesystem::path> copies;
  {
    Store store(file());
    const SessionRecord opened = store.open_session(context, some_session(), false);
    session = opened.id;
    for (std::int64_t order = 0; order < 30; ++order) {
      store.record_trial(session, context, opened.problem, timed_trial(order, tile(order % 2 == 0 ? 16 : 32), 10 + static_cast<double>(order)));
      if (order % 10 == 9) {
        store.add_wall_seconds(session, 5);
        copies.push_back(file(fmt::format("copy{}.db", order)));
        run_sql(file(), "VACUUM INTO '" + copies.back().string() + "'");
      }
    }
    store.record_profile(session, {29, "ncu", {{"conflicts", 1}}, ""});
    store.record_baseline(session, {"gemm", BaselineState::ok, "cuBLAS", "", "cold/1", {1, 2}, 1.5, 1.0, 2.0});
    store.record_winner(context, opened.problem, some_winner(session, tile(16), 10));
    store.finish_session(session, 7);
  }
  const BookContent end = read_content(file());
  EXPECT_EQ(merge_books({copies[0]}, target()).added.sessions, 1);
  EXPECT_FALSE(Store(target()).open_session(context, some_session(), false).finished) << "merged as unfinished";
  EXPECT_EQ(merge_books({copies[1]}, target()).added.sessions_extended, 1);
  EXPECT_EQ(number("SELECT count(*) FROM trial"), 20);
  const MergeCounts last = merge_books({file()}, target()).added;
  EXPECT_EQ(last.sessions, 0);
  EXPECT_EQ(last.sessions_extended, 1);
  EXPECT_EQ(last.trials, 10);
  EXPECT_EQ(last.winners, 1);
  EXPECT_EQ(last.profiles, 1);
  EXPECT_EQ(last.baselines, 1);
  EXPECT_EQ(difference(read_content(target()), end), "");
  EXPECT_EQ(query_text(target(), "SELECT wall_seconds FROM session"), "22.0");
  EXPECT_EQ(query_text(target(), "SELECT proposal FROM winner JOIN trial ON trial.id = trial_id"), "28");
  // The older copies come late.
  merge_books({file(), copies[2], copies[0]}, file("reverse.db"));
  EXPECT_EQ(difference(read_content(file("reverse.db")), end), "");
}

// Two machines went on with the same session: which winner counts does not depend on the order of merging.
TEST_F(MergeTest, OfTwoWinnersOfASessionTheLaterOneCounts) {
  const TrialContext context = some_context();
  std::string session;
  {
    Store store(file("first.db"));
    session = store.open_session(context, some_session(), false).id;
  }
  copy_book(file("first.db"), file("second.db"));
  for (const char* const name : {"first.db", "second.db"}) {
    Store store(file(name));
    const std::int64_t bm = name[0] == 'f' ? 16 : 32;
    TrialRecord preset = timed_trial(0, tile(64), static_cast<double>(bm));
    preset.origin = "preset:default";
    store.record_trial(session, context, matmul_problem(64, 64, 64), preset);
    store.record_winner(context, matmul_problem(64, 64, 64), some_winner(session, tile(bm), 10));
    store.finish_session(session, 1);
  }
  merge_books({file("first.db"), file("second.db")}, file("a.db"));
  merge_books({file("second.db"), file("first.db")}, file("b.db"));
  for (const char* const name : {"a.db", "b.db"}) {
    const Store store(file(name));
    EXPECT_EQ(store.session_winner(session)->configuration, tile(32)) << name;
    EXPECT_EQ(store.standing_winner(context, matmul_problem(64, 64, 64))->configuration, tile(32)) << name;
    EXPECT_EQ(store.previous_winner(context, matmul_problem(64, 64, 64), "time", {})->configuration, tile(32)) << name;
    const SessionSummary summary = read_session_history(file(name)).sessions.at(0);
    EXPECT_EQ(summary.winner, tile(32).canonical()) << name;
    EXPECT_EQ(summary.default_us, 32) << name;
    EXPECT_EQ(store.session_trials(session).at(0).median_us, 32) << name;
    EXPECT_EQ(store.find_trial(context, matmul_problem(64, 64, 64), tile(64))->median_us, 32) << name;
    EXPECT_EQ(store.check().winners, 2) << name;
  }
}

TEST_F(MergeTest, StoppedItKeepsWhatIsDoneAndTheSameMergeCompletesIt) {
  Dice dice(5);
  grow_book(dice, file(), 12);
  const BookContent expected = read_content(file());
  MergeOptions options;
  options.rows_per_transaction = 3;
  int asked = 0;
  options.stop = [&] { return ++asked == 12; };
  std::int64_t last = 0;
  options.progress = [&](const std::filesystem::path& book, std::int64_t trials) {
    EXPECT_EQ(book, file());
    EXPECT_GE(trials, last);
    last = trials;
  };
  const MergeResult stopped = merge_books({file()}, target(), options);
  EXPECT_TRUE(stopped.stopped);
  EXPECT_TRUE(Store(target()).check().problems.empty());
  const BookContent part = read_content(target());
  EXPECT_NE(difference(part, expected), "");
  EXPECT_EQ(number("SELECT count(*) FROM trial"), stopped.added.trials);
  const MergeResult completed = merge_books({file()}, target());
  EXPECT_FALSE(completed.stopped);
  EXPECT_EQ(stopped.added.trials + completed.added.trials, number("SELECT count(*) FROM trial"));
  EXPECT_EQ(difference(read_content(target()), expected), "");
}

TEST_F(MergeTest, ATunerMayUseTheTargetMeanwhile) {
  SyntheticBook{1, 1, 10, 2000, false}.write(file());
  const TrialContext context = some_context();
  std::atomic<bool> done = false;
  std::atomic<std::int64_t> recorded = 0;
  std::string session, failure;
  { const Store made(target()); }
  std::thread tuner([&] {
    failure = error_of([&] {
      Store store(target());
      session = store.open_session(context, some_session(), false).id;
      while (!done) {
        store.record_trial(session, context, matmul_problem(64, 64, 64), timed_trial(recorded, tile(16), 1));
        ++recorded;
      }
      store.finish_session(session, 1);
    });
  });
  while (recorded == 0 && failure.empty()) std::this_thread::yield();
  const std::int64_t before = recorded;
  MergeOptions options;
  options.rows_per_transaction = 50;
  const std::string error = error_of([&] { merge_books({file()}, target(), options); });
  const std::int64_t after = recorded;
  done = true;
  tuner.join();
  EXPECT_EQ(error, "");
  EXPECT_EQ(failure, "");
  EXPECT_GT(after, before) << "it had its turns";
  const Store store(target());
  EXPECT_TRUE(store.check().problems.empty());
  EXPECT_EQ(store.check().trials, 2000 + recorded);
  EXPECT_EQ(store.session_trials(session).size(), static_cast<std::size_t>(recorded));
}

// Nobody else's files: in a process of its own, since the limit cannot be lifted by others.
TEST_F(MergeTest, AFailedWriteLeavesAValidBookThatTheSameMergeCompletes) {
  SyntheticBook{1, 1, 10, 4000, false}.write(file());
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{std::uint64_t{1} << 20, std::uint64_t{1} << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    MergeOptions options;
    options.rows_per_transaction = 500;
    try {
      merge_books({file()}, target(), options);
    } catch (const EnvironmentError& error) {
      _exit(std::string(error.what()).find("everything recorded before is kept") != std::string::npos ? 0 : 2);
    }
    _exit(3);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(Store(target()).check().problems.empty());
  EXPECT_GT(number("SELECT count(*) FROM trial"), 0);
  EXPECT_LT(number("SELECT count(*) FROM trial"), 4000);
  merge_books({file()}, target());
  EXPECT_EQ(difference(read_content(target()), read_content(file())), "");
}

int kills_wanted() {
  const char* const text = std::getenv("TUNEBOOK_KILLS");
  return text != nullptr ? std::atoi(text) : 10;
}

// kill -9 at random moments, and the same merge again: in the end the book is the undisturbed one. $TUNEBOOK_KILLS: how many.
TEST_F(MergeTest, KilledAtRandomMomentsItEndsAsTheUndisturbedMerge) {
  const int wanted = kills_wanted();
  Dice dice(7);
  SyntheticBook{1, 1, 20, 3000, false}.write(file("large.db"));
  grow_book(dice, file("one.db"), 8);
  copy_book(file("one.db"), file("two.db"));
  grow_book(dice, file("two.db"), 8);
  const std::vector<std::filesystem::path> sources = {file("one.db"), file("large.db"), file("two.db")};
  MergeOptions options;
  options.rows_per_transaction = 300;
  const Clock::time_point start = Clock::now();
  merge_books(sources, file("undisturbed.db"), options);
  const double length_s = std::chrono::duration<double>(Clock::now() - start).count();
  const BookContent expected = read_content(file("undisturbed.db"));

  std::mt19937 random(20261);
  std::uniform_real_distribution<double> share(0, 1);
  int kills = 0, merges = 0;
  while (kills < wanted) {
    for (const char* const suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(target().string() + suffix);
    }
    ++merges;
    bool ended = false;
    while (!ended && kills < wanted) {
      const pid_t child = fork();
      if (child == 0) {
        const std::string error = error_of([&] { merge_books(sources, target(), options); });
        std::cerr << error;
        _exit(error.empty() ? 0 : 1);
      }
      std::this_thread::sleep_for(std::chrono::duration<double>(share(random) * length_s));
      kill(child, SIGKILL);
      int status = 0;
      waitpid(child, &status, 0);
      ended = WIFEXITED(status);
      ASSERT_TRUE(!ended || WEXITSTATUS(status) == 0);
      kills += ended ? 0 : 1;
      const Store::Health health = Store(target()).check();
      ASSERT_TRUE(health.problems.empty()) << health.problems.front();
      ASSERT_EQ(difference(union_of(read_content(target()), expected), expected), "") << "something that is in no source, or twice";
    }
    merge_books(sources, target(), options);
    ASSERT_EQ(difference(read_content(target()), expected), "");
  }
  std::cout << kills << " kills of a running merge, " << merges << " merges, " << std::chrono::duration<double>(Clock::now() - start).count()
            << " s; undisturbed " << length_s << " s\n";
}

}  // namespace
}  // namespace tunebook::testing
