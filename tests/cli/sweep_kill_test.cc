// kill -9 of a sweep at random moments, and the same command again: on recordings the book becomes the undisturbed sweep's, trial for trial,
// and on the cpu every session ends once. $TUNEBOOK_KILLS: how many; with 50 or more the plan is of 3 kernels x 20 shapes on each device.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "db/store.h"
#include "sweep_fixture.h"

namespace tunebook::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kSeed = 20261;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class SweepKills : public SweepCliTest {
 protected:
  SweepKills() {
    const char* const text = std::getenv("TUNEBOOK_KILLS");
    if (text != nullptr) kills_wanted_ = std::atoi(text);
    const bool whole = kills_wanted_ >= 50;
    kernels_ = whole ? 3 : 2;
    shapes_ = whole ? 20 : 2;
    record("gpu_a", kernels_, shapes_, 60);
    record("gpu_b", kernels_, shapes_, 60);
  }

  // Kills the coordinator, or it and everything that it started, after so long. True if the kill hit it.
  bool run_and_kill(const Words& words, double delay_s, bool all_at_once) {
    const std::string before = state(words);
    RunningProgram program = start(words);
    std::this_thread::sleep_for(std::chrono::duration<double>(delay_s));
    program.send(SIGKILL);
    if (all_at_once) {
      for (const pid_t process : processes_left()) ::kill(process, SIGKILL);
    }
    const ProgramResult result = program.wait();
    // What was killed when its sweep had ended is no hit: the next command would begin another night.
    if (result.signal == SIGKILL) {
      const std::string after = state(words);
      return after == before || !nlohmann::json::parse(after).at("ended").get<bool>();
    }
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 3) << result.err;
    return false;
  }

  // What the sweep of these words has written of its state; "" before the first.
  std::string state(const Words& words) const {
    const std::string stem = std::filesystem::path(words.at(1)).stem().string();
    for (const auto& entry : std::filesystem::directory_iterator(book().parent_path())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(book().filename().string() + "-sweep-" + stem) && name.ends_with(".state.json")) {
        return read_file(entry.path());
      }
    }
    return {};
  }

  int kills_wanted_ = 3;
  int kernels_, shapes_;
};

TEST_F(SweepKills, OnRecordingsTheBookIsTheUndisturbedOne) {
  const auto file = plan(kernels_, {"replay:gpu_a", "replay:gpu_b"}, R"({"budget": 30})");
  const Words words = sweep(file);
  // The second night begins where the first ended, so kills meet sessions that are tuned and such as are timed anew.
  const std::filesystem::path other = folder() / "undisturbed.db";
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<double> share(0, 1);
  int kills = 0, runs = 0;
  for (int night = 0; night < 2; ++night) {
    set_environment("TUNEBOOK_BOOK", other.string());
    const Clock::time_point begin = Clock::now();
    const auto undisturbed = run_json(words);
    const double length_s = seconds_since(begin);
    set_environment("TUNEBOOK_BOOK", book().string());

    const int wanted = kills_wanted_ * (night + 1) / 2;
    bool hit = true;
    while (hit && kills < wanted) {
      // Short runs, so that many kills fit into one sweep.
      hit = run_and_kill(words, share(random) * std::max(0.05, length_s / std::max(1, wanted / 2)), kills % 2 == 1);
      kills += hit ? 1 : 0;
      ++runs;
      EXPECT_TRUE(all_gone());
      if (std::filesystem::exists(book())) {
        EXPECT_TRUE(Store(book()).check().problems.empty());
      }
      if (HasFailure()) return;
    }
    if (hit) {
      const auto ended = run_json(words);
      EXPECT_EQ(ended["ended"], "complete");
      EXPECT_EQ(ended["items"], undisturbed["items"]);
    }
    const auto ours = fingerprint(book()), theirs = fingerprint(other);
    ASSERT_EQ(ours.size(), theirs.size());
    for (const auto& [session, text] : theirs) ASSERT_EQ(ours.at(session), text) << session;
    EXPECT_EQ(Store(book()).check().trials, Store(other).check().trials);
  }
  std::cout << "kills of a sweep on recordings, seed " << kSeed << ": " << kills << " kills of " << runs << " runs, " << 2 * kernels_ * shapes_
            << " sessions a night\n";
}

TEST_F(SweepKills, OnTheCpuEverySessionEndsOnce) {
  const bool whole = kills_wanted_ >= 50;
  const std::string shapes = whole ? R"({"n": {"from": 1000, "to": 20000, "step": 1000}})" : R"(["1000", "3000"])";
  const auto file = write("cpu.json", R"({"tunebook": 1, "devices": ["cpu", "replay:gpu_a"], "budget": 3, "finalists": 2, "finalist_processes": 2, "sessions": [{"kernels": "vector_add", "devices": "cpu", "shapes": )" + shapes +
                                          R"(}, {"kernels": "k0", "devices": "replay:gpu_a"}]})");
  const Words words = sweep(file, {"--templates", user_kernels()});
  std::mt19937 random(kSeed + 1);
  std::uniform_real_distribution<double> delay(0.2, 3);
  int kills = 0;
  bool hit = true;
  while (hit && kills < std::max(2, kills_wanted_ / 5)) {
    hit = run_and_kill(words, delay(random), kills % 2 == 1);
    kills += hit ? 1 : 0;
    EXPECT_TRUE(all_gone());
    if (HasFailure()) return;
  }
  if (hit) run_json(words);
  const int sessions = (whole ? 20 : 2) + shapes_;
  EXPECT_EQ(count("SELECT count(*) FROM session WHERE strategy != 'retime'"), sessions);
  EXPECT_EQ(count("SELECT count(*) FROM session WHERE finished_utc IS NULL"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM winner JOIN session ON session.id = session_id WHERE strategy != 'retime'"), sessions);
  // Nothing was measured twice.
  EXPECT_EQ(count("SELECT count(*) - count(DISTINCT session_id || ' ' || proposal || ' ' || configuration_id) FROM trial"), 0);
  std::cout << "kills of a sweep with the cpu, seed " << kSeed + 1 << ": " << kills << " kills\n";
}

}  // namespace
}  // namespace tunebook::test
