// Writers that are killed, that meet each other, and that run out of disk.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/error.h"
#include "db/store.h"

namespace tunebook::testing {
namespace {

using CrashTest = BookTest;

Configuration numbered(std::int64_t number) {
  Configuration configuration;
  configuration.set("BM", number);
  return configuration;
}

TEST_F(CrashTest, AKilledWriterLosesNoCommittedTrial) {
  constexpr int kRounds = 20;
  std::minstd_rand random(12345);
  const TrialContext context = some_context();
  std::int64_t acknowledged = 0;
  std::string session_id;
  for (int round = 0; round < kRounds; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      // Writes trials for ever and tells the number of each one that was recorded.
      Store store(file());
      const SessionRecord session = store.open_session(context, some_session(), false);
      for (std::int64_t number = acknowledged;; ++number) {
        store.record_trial(session.id, context, session.problem, timed_trial(number, numbered(number), 1.0));
        if (write(ends[1], &number, sizeof number) != sizeof number) {
          _exit(1);
        }
      }
    }
    close(ends[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    kill(child, SIGKILL);
    std::int64_t number = 0;
    while (read(ends[0], &number, sizeof number) == sizeof number) {
      acknowledged = number + 1;
    }
    close(ends[0]);
    waitpid(child, nullptr, 0);

    Store store(file());
    ASSERT_TRUE(store.check().problems.empty());
    const SessionRecord session = store.open_session(context, some_session(), false);
    session_id = session_id.empty() ? session.id : session_id;
    EXPECT_EQ(session.id, session_id) << "the same session goes on";
    ASSERT_GE(store.check().trials, acknowledged);
    if (acknowledged > 0) {
      ASSERT_TRUE(store.find_trial(context, session.problem, numbered(acknowledged - 1)));
    }
    const std::vector<TrialRecord> trials = store.session_trials(session.id);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      ASSERT_EQ(trials[i].order, static_cast<std::int64_t>(i));
      ASSERT_EQ(trials[i].samples_us.size(), 3U);
    }
  }
  EXPECT_GT(acknowledged, 0);
}

TEST_F(CrashTest, SeveralWritersAndTheirCreationOfTheBook) {
  constexpr int kWriters = 4;
  constexpr std::int64_t kTrials = 100;
  std::vector<std::thread> threads;
  std::vector<std::string> errors(kWriters);
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      errors[static_cast<std::size_t>(writer)] = error_of([&] {
        Store store(file());
        const TrialContext context = some_context();
        const SessionRecord session = store.open_session(context, some_session(static_cast<std::uint64_t>(writer)), false);
        for (std::int64_t i = 0; i < kTrials; ++i) {
          store.record_trial(session.id, context, session.problem, timed_trial(i, numbered(i), 1.0));
          if (!store.find_trial(context, session.problem, numbered(i))) {
            throw std::runtime_error("a recorded trial is not found");
          }
        }
        store.record_winner(context, session.problem, some_winner(session.id, numbered(0), 1.0));
        store.finish_session(session.id, 1);
      });
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(errors, std::vector<std::string>(kWriters));
  const Store::Health health = Store(file()).check();
  EXPECT_TRUE(health.problems.empty());
  EXPECT_EQ(health.trials, kWriters * kTrials);
  EXPECT_EQ(health.winners, kWriters);
  EXPECT_EQ(health.kernels, 1);
  EXPECT_EQ(query_text(file(), "SELECT count(*) FROM configuration"), std::to_string(kTrials));
}

TEST_F(CrashTest, AFailedWriteIsAnErrorAndLosesNothing) {
  const TrialContext context = some_context();
  // A limit on file sizes stands for a full disk; in a process of its own, since it cannot be lifted by others.
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    Store store(file());
    const SessionRecord session = store.open_session(context, some_session(), false);
    const rlimit limit{std::uint64_t{1} << 20, std::uint64_t{1} << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::int64_t recorded = 0;
    try {
      for (;; ++recorded) {
        store.record_trial(session.id, context, session.problem, timed_trial(recorded, numbered(recorded), 1.0));
      }
    } catch (const EnvironmentError&) {
      // Reading goes on, and all that was recorded is there.
      _exit(recorded > 0 && store.session_trials(session.id).size() == static_cast<std::size_t>(recorded) ? 0 : 2);
    } catch (...) {
      _exit(3);
    }
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  Store store(file());
  EXPECT_TRUE(store.check().problems.empty());
  EXPECT_GT(store.check().trials, 0);
  const SessionRecord session = store.open_session(context, some_session(), false);
  store.record_trial(session.id, context, session.problem, timed_trial(1'000'000, numbered(-1), 1.0));
  EXPECT_TRUE(store.find_trial(context, session.problem, numbered(-1)));
}

}  // namespace
}  // namespace tunebook::testing
