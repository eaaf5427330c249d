// Workers that are killed or stopped while a real session runs, two equal commands at once, a GPU that cannot be opened.
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "cli_support.h"
#include "db/store.h"
#include "worker_watch.h"

namespace tunebook::test {
namespace {

using Words = std::vector<std::string>;

Words session(const std::string& device, const Words& more = {}) {
  Words words = {"tune", "matmul_tiled", "--templates", user_kernels(), "--shape", "64,64,64", "--device", device, "--strategy", "exhaustive",
                 "--budget", "all", "--seed", "1", "--finalist-processes", "2", "--finalists", "3", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class WorkerLoss : public WorkerWatch {
 protected:
  std::int64_t trials() const { return std::filesystem::exists(book()) ? Store(book()).check().trials : 0; }
};

struct Blow {
  std::string role;
  int signal;
  std::int64_t after_trials;  // 0: as soon as it is there, before any set-up
};

// Each costs at most the trials that were under way; all others are measured, and the session ends with a winner.
TEST_F(WorkerLoss, EachBlowCostsAtMostWhatWasUnderWay) {
  const std::vector<Blow> blows = {{"runner", SIGKILL, 0},   {"runner", SIGSTOP, 0},   {"runner", SIGKILL, 2},   {"runner", SIGSTOP, 4},
                                   {"compiler", SIGKILL, 0}, {"compiler", SIGSTOP, 0}, {"compiler", SIGKILL, 3}, {"compiler", SIGSEGV, 5}};
  for (const Blow& blow : blows) {
    SCOPED_TRACE(blow.role + ", signal " + std::to_string(blow.signal) + " after " + std::to_string(blow.after_trials) + " trials");
    set_environment("TUNEBOOK_BOOK", (folder() / (blow.role + std::to_string(blow.signal) + std::to_string(blow.after_trials) + ".db")).string());
    set_environment("TUNEBOOK_CACHE", (folder() / (blow.role + std::to_string(blow.signal) + std::to_string(blow.after_trials))).string());
    const std::filesystem::path own_book = folder() / (blow.role + std::to_string(blow.signal) + std::to_string(blow.after_trials) + ".db");
    RunningProgram program = start(session("cpu"));
    ASSERT_TRUE(wait_for([&] {
      return !workers(blow.role).empty() &&
             (blow.after_trials == 0 || (std::filesystem::exists(own_book) && Store(own_book).check().trials >= blow.after_trials));
    }));
    ::kill(workers(blow.role).front(), blow.signal);
    const ProgramResult result = program.wait(180);
    ASSERT_FALSE(result.timed_out);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto tuned = parse_one_line(result.out);
    EXPECT_TRUE(tuned["winner"].is_object()) << tuned.dump();
    int all = 0, lost = 0;
    for (const auto& [outcome, count] : tuned["trials"].items()) {
      all += count.get<int>();
      if (outcome == "worker_lost" || outcome == "compile_error") {
        lost += count.get<int>();
      } else {
        EXPECT_TRUE(outcome == "ok" || outcome == "abandoned") << tuned.dump();
      }
    }
    EXPECT_EQ(all, 16) << tuned.dump();
    EXPECT_LE(lost, 1) << tuned.dump();
    for (const TrialRecord& trial : Store(own_book).session_trials(tuned["session"])) {
      if (trial.outcome == Outcome::worker_lost || trial.outcome == Outcome::compile_error) {
        const bool told = trial.message.find("signal") != std::string::npos;
#ifdef TUNEBOOK_SANITIZED
        // A sanitizer takes SIGSEGV for a fault of the program, and ends it with a report of its own.
        EXPECT_TRUE(told || trial.message.find("AddressSanitizer: SEGV") != std::string::npos) << trial.message;
#else
        EXPECT_TRUE(told) << trial.message;
#endif
      }
    }
    EXPECT_TRUE(all_gone());
  }
}

TEST_F(EndlessKernel, DiesWithItsCoordinatorOnTheCpu) { expect_nothing_left("cpu"); }

// The second of two equal commands waits and gives the answer of the first; nothing is measured twice.
TEST_F(WorkerLoss, TheSameCommandTwiceAtOnceMeasuresOnce) {
  RunningProgram one = start(session("cpu"));
  RunningProgram two = start(session("cpu"));
  const ProgramResult first = one.wait(180);
  const ProgramResult second = two.wait(180);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  ASSERT_EQ(second.exit_code, 0) << second.err;
  const std::string said = first.err + second.err;
  EXPECT_NE(said.find("runs this very session"), std::string::npos) << said;
  EXPECT_EQ(parse_one_line(first.out)["session"], parse_one_line(second.out)["session"]);
  EXPECT_EQ(parse_one_line(first.out)["winner"], parse_one_line(second.out)["winner"]);
  const Store::Health health = Store(book()).check();
  EXPECT_EQ(health.sessions, 1);
  EXPECT_EQ(health.trials, 16);
  EXPECT_EQ(health.winners, 1);
}

// The one that waits takes over when the first is killed, and can be interrupted meanwhile.
TEST_F(WorkerLoss, TheSecondGoesOnWhenTheFirstIsKilled) {
  RunningProgram one = start(session("cpu"));
  ASSERT_TRUE(wait_for([&] { return trials() >= 2; }));
  RunningProgram two = start(session("cpu"));
  RunningProgram three = start(session("cpu"));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  three.send(SIGINT);
  EXPECT_EQ(three.wait(60).exit_code, 1);
  one.send(SIGKILL);
  EXPECT_EQ(one.wait(30).signal, SIGKILL);
  const ProgramResult second = two.wait(180);
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(Store(book()).check().trials, 16);
  EXPECT_EQ(Store(book()).check().sessions, 1);
  EXPECT_TRUE(all_gone());
}

// A GPU that says Hello and then cannot be opened (exclusive mode, no memory left).
class UnopenedGpu : public WorkerLoss {
 protected:
  void SetUp() override {
    const std::filesystem::path workers = folder() / "workers";
    std::filesystem::create_directory(workers);
    std::filesystem::create_symlink(TUNEBOOK_BIN_DIR "/tunebook-fake-worker", workers / "tunebook-cuda-worker");
    std::filesystem::create_symlink(TUNEBOOK_BIN_DIR "/tunebook-cpu-worker", workers / "tunebook-cpu-worker");
    set_environment("TUNEBOOK_WORKER_DIR", workers.string());
    set_environment("FAKE_WARM_UP", "exit");
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
};

TEST_F(UnopenedGpu, AnAutomaticChoiceTakesTheCpuAndSaysSoOnce) {
  const ProgramResult result = run({"tune", "vector_add", "--templates", user_kernels(), "--shape", "10000", "--device", "auto", "--budget", "2",
                                    "--finalists", "0", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(parse_one_line(result.out)["device"]["kind"], "cpu");
  EXPECT_EQ(count(result.err, "the cpu device is used"), 1U) << result.err;
  EXPECT_NE(result.err.find("cannot go on"), std::string::npos) << "the reason is missing: " << result.err;
}

TEST_F(UnopenedGpu, AChosenGpuIsAnError) {
  const ProgramResult result = run({"tune", "vector_add", "--templates", user_kernels(), "--shape", "10000", "--device", "cuda:0", "--budget", "2"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("cannot go on"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace tunebook::test
