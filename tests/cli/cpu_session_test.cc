// Whole sessions on the cpu device: a user's own kernels, the same question again, interruptions.
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli_support.h"
#include "db/store.h"

namespace tunebook::test {
namespace {

using Words = std::vector<std::string>;

class CpuSession : public CliTest {
 protected:
  static Words tune(const std::string& kernel, const std::string& shape, const Words& more) {
    Words words = {"tune", kernel, "--templates", user_kernels(), "--shape", shape, "--device", "cpu", "--seed", "1", "--finalist-processes", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static Words json(Words words) {
    words.push_back("--json");
    return words;
  }

  // Tunes; the same command again is answered by the book; best gives the winner.
  void expect_tuned_once(const std::string& kernel, const std::string& shape, const std::string& budget) {
    const Words words = json(tune(kernel, shape, {"--budget", budget, "--presets"}));
    const auto first = run_json(words);
    ASSERT_TRUE(first["winner"].is_object()) << first.dump();
    EXPECT_FALSE(first["trials"].contains("wrong_result")) << first.dump();
    EXPECT_TRUE(first["trials"].contains("ok")) << first.dump();
    EXPECT_GT(first["winner"]["gflops"], 0);
    const std::int64_t trials = Store(book()).check().trials;

    auto second = run_json(words);
    EXPECT_EQ(second["configurations_per_s"], 0);
    second["wall_s"] = first["wall_s"];
    second["configurations_per_s"] = first["configurations_per_s"];
    EXPECT_EQ(second["measured"], 0);
    EXPECT_TRUE(second["from_book"]);
    for (const char* of_this_run : {"measured", "from_book", "clock"}) second[of_this_run] = first[of_this_run];
    EXPECT_EQ(second, first);
    EXPECT_EQ(Store(book()).check().trials, trials);

    const auto best = run_json({"best", kernel, "--templates", user_kernels(), "--shape", shape, "--device", "cpu", "--json"});
    EXPECT_EQ(best["match"]["tier"], "exact");
    EXPECT_EQ(best["configuration"], first["winner"]["configuration"]);
    EXPECT_TRUE(all_gone());
  }

  // Lets a session run until so many trials are in the book.
  void wait_for_trials(std::int64_t count) const {
    for (int i = 0; i < 3000; ++i) {
      if (std::filesystem::exists(book()) && Store(book()).check().trials >= count) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << "no trials within a minute";
  }

  // The command again: goes on from what is there, and each configuration ends up with one trial.
  void expect_resumed(const Words& words, std::int64_t trials_before) {
    ASSERT_GE(trials_before, 1);
    ASSERT_LT(trials_before, 16);
    const ProgramResult resumed = run(words);
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    const std::string measured = "; " + std::to_string(16 - trials_before) + " measured now";
    EXPECT_NE(resumed.out.find(measured), std::string::npos) << trials_before << " trials before; " << resumed.out;
    EXPECT_EQ(Store(book()).check().trials, 16);
    EXPECT_EQ(Store(book()).check().sessions, 1);

    const auto again = run_json(json(words));
    std::set<std::string> configurations;
    for (const TrialRecord& trial : Store(book()).session_trials(again["session"])) configurations.insert(trial.configuration.canonical());
    EXPECT_EQ(configurations.size(), 16U);
    EXPECT_TRUE(Store(book()).check().problems.empty());
  }

  static Words long_session() { return tune("matmul_tiled", "64,64,64", {"--strategy", "exhaustive", "--budget", "all"}); }
};

// A kernel that declares no arithmetic: there is no rate of it, not one of 0.
TEST_F(CpuSession, AKernelWithoutArithmeticHasNoRateOfIt) {
  const Words words = {"tune", "transpose", "--templates", TUNEBOOK_SOURCE_DIR "/templates", "--shape", "64,64", "--device", "cpu", "--budget", "1", "--finalist-processes", "1", "--no-baseline"};
  const auto winner = run_json(json(words))["winner"];
  ASSERT_TRUE(winner.is_object());
  EXPECT_TRUE(winner["gflops"].is_null()) << winner;
  EXPECT_GT(winner["gbps"], 0) << winner;
  const std::string text = run(words).out;
  EXPECT_NE(text.find("bandwidth"), std::string::npos) << text;
  EXPECT_EQ(text.find("FLOP/s"), std::string::npos) << text;
}

TEST_F(CpuSession, VectorAdd) { expect_tuned_once("vector_add", "10000", "6"); }
TEST_F(CpuSession, MatmulTiled) { expect_tuned_once("matmul_tiled", "48,40,33", "5"); }
TEST_F(CpuSession, Convolution) { expect_tuned_once("convolution_2d", "64,48,2", "5"); }
TEST_F(CpuSession, SeveralLaunches) { expect_tuned_once("smooth", "700,5", "6"); }
TEST_F(CpuSession, KernelTunersMatmul) { expect_tuned_once("kt_matmul", "128", "5"); }

TEST_F(CpuSession, AnotherBudgetReusesTheTrialsInTheBook) {
  const auto first = run_json(json(tune("vector_add", "10000", {"--budget", "3", "--finalists", "2"})));
  const auto second = run_json(json(tune("vector_add", "10000", {"--budget", "6", "--finalists", "2"})));
  const Store store(book());
  std::set<std::string> measured;
  for (const TrialRecord& trial : store.session_trials(first["session"])) measured.insert(trial.configuration.canonical());
  EXPECT_EQ(measured.size(), 4U);  // the preset and three more
  std::size_t reused = 0;
  for (const TrialRecord& trial : store.session_trials(second["session"])) {
    EXPECT_EQ(trial.reused, measured.contains(trial.configuration.canonical())) << trial.configuration.display();
    reused += trial.reused ? 1 : 0;
  }
  EXPECT_GE(reused, 2U);  // at least the preset and the standing winner
}

TEST_F(CpuSession, RemeasureRunsEverythingAgain) {
  const Words words = tune("vector_add", "10000", {"--budget", "2", "--finalists", "0"});
  const auto first = run_json(json(words));
  Words again = json(words);
  again.push_back("--remeasure");
  const auto second = run_json(again);
  EXPECT_NE(first["session"], second["session"]);
  EXPECT_GT(second["configurations_per_s"], 0);
}

// A space that would take hours: the budget must leave nearly all of it.
TEST_F(CpuSession, TimeBudgetsEnd) {
  std::filesystem::create_directory(folder() / "kernels");
  std::filesystem::copy(user_kernels() + "/vector_add", folder() / "kernels" / "vector_add");
  std::string spec = read_file(folder() / "kernels" / "vector_add" / "kernel.json");
  const std::string parameters = "\"parameters\": {";
  const std::string preset = "\"default\": {\"BLOCK_SIZE\"";
  ASSERT_NE(spec.find(parameters), std::string::npos);
  ASSERT_NE(spec.find(preset), std::string::npos);
  spec.replace(spec.find(preset), preset.size(), "\"default\": {\"UNUSED\": 0, \"BLOCK_SIZE\"");
  std::string values = "0";
  for (int i = 1; i < 1000; ++i) values += ", " + std::to_string(i);
  spec.insert(spec.find(parameters) + parameters.size(), "\"UNUSED\": {\"values\": [" + values + "], \"help\": \"none\"}, ");
  write("kernels/vector_add/kernel.json", spec);
  const auto tuned = run_json({"tune", "vector_add", "--templates", (folder() / "kernels").string(), "--shape", "10000", "--device", "cpu",
                               "--strategy", "exhaustive", "--budget", "2s", "--finalists", "2", "--finalist-processes", "2", "--json"}, 60);
  EXPECT_TRUE(tuned["winner"].is_object());
  const std::int64_t trials = Store(book()).check().trials;
  EXPECT_GE(trials, 1);
  EXPECT_LT(trials, 24000 / 2);
  EXPECT_TRUE(all_gone());
}

TEST_F(CpuSession, InterruptedSessionResumes) {
  const Words words = long_session();
  RunningProgram program = start(words);
  wait_for_trials(3);
  program.send(SIGINT);
  const ProgramResult result = program.wait(30);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("interrupted; every finished trial is in " + book().string()), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("resume with: "), std::string::npos) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(all_gone());
  expect_resumed(words, Store(book()).check().trials);
}

TEST_F(CpuSession, KilledSessionResumesAndLeavesNoProcess) {
  const Words words = long_session();
  RunningProgram program = start(words);
  wait_for_trials(3);
  program.send(SIGKILL);
  EXPECT_EQ(program.wait(30).signal, SIGKILL);
  EXPECT_TRUE(all_gone());
  expect_resumed(words, Store(book()).check().trials);
}

// One trial may be lost with its worker; the session is not.
TEST_F(CpuSession, KilledWorkersAreReplaced) {
  RunningProgram program = start(long_session());
  wait_for_trials(2);
  for (const pid_t pid : processes_left()) {
    if (pid != program.pid()) ::kill(pid, SIGKILL);
  }
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("winner"), std::string::npos) << result.out;
  EXPECT_EQ(Store(book()).check().trials, 16);
  EXPECT_TRUE(all_gone());
}

TEST_F(CpuSession, TwoSessionsShareOneBook) {
  RunningProgram one = start(json(tune("vector_add", "10000", {"--budget", "6"})));
  RunningProgram two = start(json(tune("matmul_tiled", "32,32,32", {"--budget", "4"})));
  for (RunningProgram* program : {&one, &two}) {
    const ProgramResult result = program->wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(parse_one_line(result.out)["winner"].is_object());
  }
  const Store::Health health = Store(book()).check();
  EXPECT_TRUE(health.problems.empty());
  EXPECT_EQ(health.winners, 2);
}

// Three problems with 13 trials each are enough for a model of time.
TEST_F(CpuSession, BeginsWithWhatTheBookPredicts) {
  const auto session = [](const std::string& shape, const std::string& budget,
                          const std::string& from_book) {
    return json(tune("vector_add", shape, {"--budget", budget, from_book, "--strategy", "random",
                                           "--finalists", "1"}));
  };
  for (const char* shape : {"4096", "65536", "200000"}) {
    const auto tuned = run_json(session(shape, "12", "--from-book"));
    EXPECT_EQ(tuned["predicted_trials"], 0) << "too little is known";
  }
  const auto short_one = run_json(session("30000", "3", "--from-book=3"));
  EXPECT_GE(short_one["predicted_trials"], 2) << "the preset default may be one of the three";
  EXPECT_EQ(short_one["trials"]["ok"].get<int>() + short_one["trials"].value("abandoned", 0), 4);
  EXPECT_TRUE(short_one["winner"].is_object());
  const auto without = run_json(session("20000", "4", "--no-from-book"));
  EXPECT_EQ(without["from_book_trials"], 0);
  EXPECT_NE(run(session("30000", "3", "--from-book=x")).exit_code, 0);
  EXPECT_EQ(run(session("30000", "3", "--from-book=0")).exit_code, 2);
}

}  // namespace
}  // namespace tunebook::test
