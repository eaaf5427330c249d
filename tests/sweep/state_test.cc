// What a sweep keeps on disk, and when the same command goes on with it.
#include "sweep/state.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "core/error.h"
#include "sweep_samples.h"

namespace tunebook {
namespace {

constexpr double kNow = 1.8e9;  // 2027-01-15T08:00:00Z

class StateTest : public testing::Test {
 protected:
  StateTest() : folder_(std::filesystem::temp_directory_path() / ("tunebook_state_" + std::to_string(getpid()) + "_" +
                                                                  testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~StateTest() override { std::filesystem::remove_all(folder_); }

  static SweepState sample(std::optional<double> seconds = std::nullopt) {
    FrozenPlan plan = test::sample_plan(4);
    plan.time.seconds = seconds;
    plan.items[2].decision.action = Action::fresh;
    plan.shards = {{0, 1, 3}};
    return SweepState::begin(plan, {3, 2, 1, 0}, kNow);
  }

  std::filesystem::path folder_;
};

TEST_F(StateTest, BeginsWithWhatIsNotFresh) {
  const SweepState state = sample(3600);
  EXPECT_EQ(state.order, (std::vector<std::size_t>{3, 1, 0}));
  EXPECT_EQ(state.items[2].status, ItemStatus::fresh);
  EXPECT_EQ(state.start_utc, "2027-01-15T08:00:00.000000Z");
  EXPECT_EQ(state.deadline, kNow + 3600);
  EXPECT_EQ(state.id.size(), 32u);
}

TEST_F(StateTest, IsReadAsItWasWritten) {
  SweepState state = sample(3600);
  state.items[1] = {ItemStatus::failed, 3, true, "it crashed\n\"twice\"", nullptr};
  state.items[3].status = ItemStatus::done;
  state.items[3].result = {{"session", "abc"}, {"winner", {{"median_us", 1.5}}}};
  state.devices["cpu"] = {"cpu", 3, 10.5, 9.5, 12, "gone"};
  state.wall_s = 12.5;
  state.runs = 2;
  state.save(folder_ / "state.json");
  const SweepState read = SweepState::load(folder_ / "state.json");
  EXPECT_EQ(read.to_json(), state.to_json());
  EXPECT_EQ(read.plan, state.plan);
  EXPECT_EQ(read.items[3].result["winner"]["median_us"], 1.5);
  EXPECT_EQ(read.devices.at("cpu").out_reason, "gone");
}

TEST_F(StateTest, AnUnfinishedSweepGoesOnUntilItsDeadline) {
  SweepState state = sample(3600);
  const std::string hash = state.plan.plan_hash;
  EXPECT_EQ(resumption(state, hash, kNow + 3599), Resumption::go_on);
  EXPECT_EQ(resumption(state, "another", kNow), Resumption::none);
  EXPECT_EQ(resumption(state, hash, kNow + 3600), Resumption::none);
  state.ended = true;
  EXPECT_EQ(resumption(state, hash, kNow), Resumption::none);
  EXPECT_EQ(resumption(sample(), hash, kNow + 1e8), Resumption::go_on);  // no deadline
}

TEST_F(StateTest, AfterATimeOfTheDayNothingIsRunInTheSameNight) {
  SweepState state = sample(3600);
  state.plan.time.until_minute = 360;
  EXPECT_EQ(resumption(state, state.plan.plan_hash, kNow + 3599), Resumption::go_on);
  EXPECT_EQ(resumption(state, state.plan.plan_hash, kNow + 3600), Resumption::too_late);
  EXPECT_EQ(resumption(state, state.plan.plan_hash, kNow + kSameNightSeconds - 1), Resumption::too_late);
  EXPECT_EQ(resumption(state, state.plan.plan_hash, kNow + kSameNightSeconds), Resumption::none);
}

TEST_F(StateTest, AClockThatWasSetBackGivesNoMoreTimeThanThereWas) {
  const SweepState state = sample(3600);
  EXPECT_EQ(time_left(state, kNow + 600), 3000);
  EXPECT_EQ(time_left(state, kNow - 86400), 3600);
  EXPECT_EQ(time_left(sample(), kNow), std::nullopt);
}

TEST_F(StateTest, DamagedFilesAreRefused) {
  const std::filesystem::path file = folder_ / "state.json";
  EXPECT_THROW(SweepState::load(file), InputError);
  std::ofstream(file) << "{}";
  EXPECT_THROW(SweepState::load(file), InputError);
  const std::string good = sample(60).to_json().dump();
  std::mt19937 random(5);
  int refused = 0;
  for (int round = 0; round < 150; ++round) {
    std::string text = good;
    for (int change = 0; change < 1 + round % 4; ++change) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0) text.erase(at, 1 + random() % 20);
      else text[at] = static_cast<char>(random() % 256);
    }
    std::ofstream(file, std::ios::binary) << text;
    try {
      SweepState::load(file);
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 40);
}

TEST_F(StateTest, PartsThatDoNotFitAreRefused) {
  nlohmann::ordered_json json = sample().to_json();
  json["order"] = {0, 0};
  EXPECT_THROW(SweepState::from_json(json, "x"), InputError);
  json["order"] = {4};
  EXPECT_THROW(SweepState::from_json(json, "x"), InputError);
  json["order"] = {1};
  EXPECT_NO_THROW(SweepState::from_json(json, "x"));
  json["items"].erase(0);
  EXPECT_THROW(SweepState::from_json(json, "x"), InputError);
}

TEST_F(StateTest, OneProcessAtATimeRunsASweep) {
  const std::filesystem::path file = folder_ / "lock";
  const SweepLock lock(file);
  const pid_t child = fork();
  if (child == 0) {
    try {
      const SweepLock second(file);
      _exit(1);
    } catch (const InputError& error) {
      _exit(std::string(error.what()).find("process " + std::to_string(getppid())) != std::string::npos ? 0 : 2);
    }
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(StateTest, FilesOfPlansInDifferentFoldersDiffer) {
  const SweepFiles a = sweep_files("/b/book.db", "/plans/a/night.json"), b = sweep_files("/b/book.db", "/plans/b/night.json");
  EXPECT_NE(a.state, b.state);
  EXPECT_EQ(a.state, sweep_files("/b/book.db", "/plans/b/../a/night.json").state);
  EXPECT_TRUE(a.state.string().starts_with("/b/book.db-sweep-night-"));
}

}  // namespace
}  // namespace tunebook
