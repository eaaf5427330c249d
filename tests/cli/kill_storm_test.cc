// kill -9 of the coordinator at random moments, and the same command again: nothing that was committed is lost, repeated or changed,
// and in the end the session is the undisturbed one. $TUNEBOOK_KILLS: how many (a short form by default).
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli_support.h"
#include "db/sqlite.h"
#include "db/store.h"
#include "support/synthetic_recording.h"

namespace tunebook::test {
namespace {

using Words = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kSeed = 20260;

int kills_wanted(int short_form) {
  const char* const text = std::getenv("TUNEBOOK_KILLS");
  return text != nullptr ? std::atoi(text) : short_form;
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class KillStorm : public CliTest {
 protected:
  // Every committed trial of the book as text, in the order of committing.
  std::vector<std::string> trials() const {
    std::vector<std::string> result;
    if (!std::filesystem::exists(book())) return result;
    // A book that was killed while it was made may not have its tables yet; the store makes them.
    EXPECT_TRUE(Store(book()).check().problems.empty());
    sqlite::Database database(book(), sqlite::Database::Mode::read_only);
    sqlite::Statement select(database,
                             "SELECT session_id || ' ' || proposal || ' ' || configuration_id || ' ' || reused || ' ' || outcome || ' ' || "
                             "ifnull(median_us, '') || ' ' || hex(key) || ' ' || hex(ifnull(samples_us, '')) || ' ' || recorded_utc "
                             "FROM trial ORDER BY id");
    sqlite::Statement::Run row = select.run();
    while (row.next()) result.push_back(row.text(0));
    return result;
  }

  // What was committed before is there, unchanged and once.
  void expect_kept(const std::vector<std::string>& before, const std::vector<std::string>& after) const {
    ASSERT_GE(after.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i) ASSERT_EQ(after[i], before[i]);
    std::set<std::string> proposals;
    for (const std::string& trial : after) {
      const std::size_t session_end = trial.find(' ');
      EXPECT_TRUE(proposals.insert(trial.substr(0, trial.find(' ', session_end + 1))).second) << "twice: " << trial.substr(0, 60);
    }
  }

  // Runs the command until it ends by itself or is killed after `delay_s`. True if the kill hit it.
  bool run_and_kill(const Words& words, double delay_s) {
    RunningProgram program = start(words);
    std::this_thread::sleep_for(std::chrono::duration<double>(delay_s));
    program.send(SIGKILL);
    const ProgramResult result = program.wait();
    if (result.signal == SIGKILL) return true;
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return false;
  }

  void forget_book() const {
    for (const char* ending : {"", "-wal", "-shm", "-lock"}) std::filesystem::remove(book().string() + ending);
  }
};

// Of a finished session, by order: everything that makes two sessions the same.
nlohmann::json fingerprint(const std::filesystem::path& book, const nlohmann::ordered_json& tuned) {
  nlohmann::json trials = nlohmann::json::array();
  for (const TrialRecord& trial : Store(book).session_trials(tuned["session"])) {
    trials.push_back({trial.order, trial.origin, trial.configuration.canonical(), outcome_name(trial.outcome), trial.samples_us});
  }
  nlohmann::ordered_json winner = tuned["winner"];
  winner.erase("session");  // random
  return {{"trials", trials}, {"winner", winner}};
}

TEST_F(KillStorm, OnARecordingTheSessionIsTheUndisturbedOne) {
  const int wanted = kills_wanted(15);
  const std::string recording = write_synthetic_recording(folder(), "storm", 7, 2000).string();
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<double> share(0, 1);
  int kills = 0, sessions = 0;  // kills that hit a running process
  const Clock::time_point begin = Clock::now();
  while (kills < wanted) {
    const Words words = {"tune", "synthetic", "--device", "replay:" + recording, "--json", "--budget", "400", "--seed", std::to_string(++sessions)};
    const std::filesystem::path other = folder() / ("undisturbed" + std::to_string(sessions) + ".db");  // its own: sessions learn from their book
    set_environment("TUNEBOOK_BOOK", other.string());
    const Clock::time_point start = Clock::now();
    const auto undisturbed = run_json(words);
    const double length_s = seconds_since(start);
    set_environment("TUNEBOOK_BOOK", book().string());

    forget_book();
    std::vector<std::string> before;
    bool hit = true;
    while (hit && kills < wanted) {
      hit = run_and_kill(words, share(random) * length_s);
      kills += hit ? 1 : 0;
      const std::vector<std::string> after = trials();
      expect_kept(before, after);
      if (HasFatalFailure()) return;
      before = after;
    }
    const auto resumed = run_json(words);
    expect_kept(before, trials());
    EXPECT_TRUE(fingerprint(book(), resumed) == fingerprint(other, undisturbed)) << "not the undisturbed session: seed " << sessions;
    EXPECT_EQ(Store(book()).check().sessions, 1);
    if (HasFailure()) return;
  }
  std::cout << "kill storm, seed " << kSeed << ": " << kills << " kills of a running process, " << sessions << " sessions, "
            << seconds_since(begin) << " s\n";
}

TEST_F(KillStorm, OnTheCpuNothingIsLostAndNoProcessIsLeft) {
  const int wanted = std::max(1, kills_wanted(4) / 50 + 3);
  const Words words = {"tune", "matmul_tiled", "--templates", user_kernels(), "--shape", "64,64,64", "--device", "cpu", "--strategy", "exhaustive",
                       "--budget", "all", "--seed", "1", "--finalist-processes", "2", "--finalists", "3", "--json"};
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<double> delay(0.2, 3);
  std::vector<std::string> before;
  int hits = 0;
  for (int kill = 0; kill < wanted; ++kill) {
    const bool hit = run_and_kill(words, delay(random));
    hits += hit ? 1 : 0;
    EXPECT_TRUE(all_gone());
    const std::vector<std::string> after = trials();
    expect_kept(before, after);
    if (HasFatalFailure()) return;
    before = after;
    if (!hit) break;
  }
  const auto tuned = run_json(words);
  EXPECT_TRUE(tuned["winner"].is_object());
  expect_kept(before, trials());
  EXPECT_EQ(Store(book()).check().sessions, 1);
  EXPECT_EQ(trials().size(), 16U);
  std::cout << "kill storm on the cpu, seed " << kSeed << ": " << hits << " kills of a running process\n";
}

}  // namespace
}  // namespace tunebook::test
