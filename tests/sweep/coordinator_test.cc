// Sweeps whose sessions are a shell script: what is started when and where, what is tried again, and how everything ends.
#include "sweep/coordinator.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sweep_samples.h"

namespace tunebook {
namespace {

// tune KERNEL --shape SHAPE --device DEVICE ...; what the kernel's name says is what happens. Each start and end is a line of the log.
constexpr const char* kScript = R"sh(#!/bin/sh
kernel=$2; shape=$4; device=$6
cd "$(dirname "$0")"
echo "start $kernel $shape $device $*" >> log
good() { echo "end $kernel $shape $device" >> log; echo '{"session":"s","winner":{"median_us":5,"process_medians_us":[5]},"previous":null,"cut":false,"wall_s":0.1,"clock":{"first_pass_s":0.1,"device_idle_s":0.02,"finalists_s":0.05}}'; exit 0; }
echo '{"stage":"template"}' >&3
case $device in
  cuda:9) echo '{"stage":"device"}' >&3; echo "tunebook: device cuda:9 cannot be used: gone" >&2; exit 2;;
esac
echo '{"stage":"session","session":"s"}' >&3
case $kernel in
  good) good;;
  slow) trap 'echo "stopped $kernel $shape" >> log; exit 1' TERM; i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done; good;;
  crash) kill -SEGV $$;;
  silent) sleep 60;;
  talking) i=0; while [ $i -lt 15 ]; do sleep 0.1; echo '{"step":"search","done":1,"total":2,"failed":0}' >&3; i=$((i+1)); done; good;;
  flaky) if [ -e "flaky$shape" ]; then good; fi; touch "flaky$shape"; exit 1;;
  bad) echo "tunebook: unknown kernel \"bad\"" >&2; exit 2;;
  none) echo '{"session":"s","winner":null,"previous":null,"cut":false,"wall_s":0.1}'; exit 1;;
  cut) echo '{"session":"s","winner":{"median_us":5,"process_medians_us":[5]},"previous":null,"cut":true,"wall_s":0.1}'; exit 0;;
  twice) if [ -e "twice$shape" ]; then good; fi; touch "twice$shape"
    echo '{"session":"s","winner":{"median_us":5,"process_medians_us":[5]},"previous":null,"cut":true,"wall_s":0.1}'; exit 0;;
  full) echo "tunebook: book b: the disk is full" >&2; exit 1;;
  gone) case "$*" in *--retime*) exit 3;; *) good;; esac;;
esac
)sh";

class CoordinatorTest : public testing::Test {
 protected:
  CoordinatorTest() : folder_(std::filesystem::temp_directory_path() / ("tunebook_coordinator_" + std::to_string(getpid()) + "_" +
                                                                        testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const std::filesystem::path program = folder_ / "session";
    std::ofstream(program) << kScript;
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    options_.program = program;
    options_.book = folder_ / "book.db";
    options_.files = sweep_files(options_.book, folder_ / "plan.json");
    options_.cores = 4;
  }
  ~CoordinatorTest() override { std::filesystem::remove_all(folder_); }

  struct Item {
    std::string kernel, device;
    double seconds = 1, gain = 0.5;
    Action action = Action::tune;
  };
  SweepState sweep_of(const std::vector<Item>& items) {
    FrozenPlan plan = test::sample_plan(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      plan.items[i].item.kernel = items[i].kernel;
      plan.items[i].item.device = items[i].device;
      plan.items[i].estimate.seconds = items[i].seconds;
      plan.items[i].estimate.gain = items[i].gain;
      plan.items[i].decision.action = items[i].action;
    }
    return SweepState::begin(plan, test::all_of(plan), 1.8e9);
  }
  SweepEnd run(SweepState& state, const std::vector<std::string>& gpus = {}) {
    SweepObserver observer;
    observer.event = [&](const std::string& text) { events_ += text + "\n"; };
    const auto lanes = plan_lanes(state.plan, state.order, gpus, [](const std::string& path) { return RecordedOn{path, path}; });
    return run_sweep(state, lanes, options_, observer);
  }
  std::vector<std::string> log() const {
    std::vector<std::string> lines;
    std::ifstream file(folder_ / "log");
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  // The lines of the log that begin so.
  std::size_t logged(const std::string& beginning) const {
    const auto lines = log();
    return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(beginning); }));
  }

  std::filesystem::path folder_;
  SweepOptions options_;
  std::string events_;
};

// Whoever dies while the summary is written finds a sweep that has not ended, and writes it again.
TEST_F(CoordinatorTest, TheStateSaysThatItEndedOnlyAfterTheConclusion) {
  SweepState state = sweep_of({{"good", "cpu"}, {"good", "cpu"}});
  std::vector<SweepEnd> concluded;
  options_.conclude = [&](SweepEnd end) {
    concluded.push_back(end);
    EXPECT_FALSE(SweepState::load(options_.files.state).ended);
    EXPECT_GT(state.wall_s, 0);
  };
  run(state);
  EXPECT_EQ(concluded, std::vector{SweepEnd::complete});
  EXPECT_TRUE(SweepState::load(options_.files.state).ended);
}

TEST_F(CoordinatorTest, RunsEachOnceInOrder) {
  SweepState state = sweep_of({{"good", "cpu"}, {"good", "cpu"}, {"good", "cpu"}});
  EXPECT_EQ(run(state), SweepEnd::complete);
  EXPECT_TRUE(state.ended);
  const auto lines = log();
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_TRUE(lines[0].starts_with("start good n=1 cpu"));
  EXPECT_EQ(lines[1], "end good n=1 cpu");
  EXPECT_TRUE(lines[4].starts_with("start good n=3 cpu"));
  EXPECT_NE(lines[0].find("--sweep-start " + state.start_utc), std::string::npos) << lines[0];
  EXPECT_EQ(lines[0].find("--time-limit"), std::string::npos);
  for (const ItemState& item : state.items) EXPECT_EQ(item.status, ItemStatus::done);
  const DeviceWork& work = state.devices.at("cpu");
  EXPECT_EQ(work.sessions, 3);
  EXPECT_NEAR(work.busy_s, 3 * 0.13, 1e-9);
  // The state on disk is the one in hand.
  EXPECT_EQ(SweepState::load(options_.files.state).to_json(), state.to_json());
}

TEST_F(CoordinatorTest, GpusOfAMachineShareTheWorkAndTheCpuMeasuresAlone) {
  SweepState state = sweep_of({{"good", "cuda"}, {"good", "cuda"}, {"good", "cpu"}, {"good", "cuda"}, {"good", "cuda"}});
  EXPECT_EQ(run(state, {"cuda:0", "cuda:1"}), SweepEnd::complete);
  EXPECT_EQ(logged("start"), 5u);
  EXPECT_GT(logged("start good n=1 cuda:0") + logged("start good n=2 cuda:0"), 0u);
  EXPECT_EQ(state.devices.at("cuda:0").sessions + state.devices.at("cuda:1").sessions, 4);
  EXPECT_GT(state.devices.at("cuda:1").sessions, 0);
  EXPECT_EQ(log().back(), "end good n=3 cpu");
}

TEST_F(CoordinatorTest, WhatCrashesIsTriedAgainAFewTimes) {
  SweepState state = sweep_of({{"crash", "cpu"}, {"flaky", "cpu"}, {"bad", "cpu"}, {"none", "cpu"}, {"cut", "cpu"}, {"good", "cpu"}});
  EXPECT_EQ(run(state), SweepEnd::complete);
  EXPECT_EQ(logged("start crash"), 3u);
  EXPECT_EQ(logged("start flaky"), 2u);
  EXPECT_EQ(logged("start bad"), 1u);
  EXPECT_EQ(state.items[0].status, ItemStatus::failed);
  EXPECT_NE(state.items[0].reason.find("signal 11"), std::string::npos) << state.items[0].reason;
  EXPECT_EQ(state.items[1].status, ItemStatus::done);
  EXPECT_EQ(state.items[2].status, ItemStatus::failed);
  EXPECT_EQ(state.items[2].reason, "unknown kernel \"bad\"");
  EXPECT_EQ(state.items[3].status, ItemStatus::no_winner);
  EXPECT_EQ(state.items[4].status, ItemStatus::cut);
  EXPECT_EQ(state.items[5].status, ItemStatus::done);
  EXPECT_EQ(sweep_exit_code(state, SweepEnd::complete), 1);
}

TEST_F(CoordinatorTest, WhatSaysNothingIsKilledAndTriedAgain) {
  options_.silent_s = 0.5;
  SweepState state = sweep_of({{"silent", "cpu"}, {"talking", "cpu"}});
  for (FrozenItem& frozen : state.plan.items) frozen.item.settings.run_timeout_s = frozen.item.settings.compile_timeout_s = 0.125;
  EXPECT_EQ(run(state), SweepEnd::complete);
  EXPECT_EQ(logged("start silent"), 3u);
  EXPECT_EQ(state.items[0].status, ItemStatus::failed);
  EXPECT_EQ(state.items[0].reason, "it said nothing for 1 s and was killed");
  EXPECT_EQ(logged("start talking"), 1u);
  EXPECT_EQ(state.items[1].status, ItemStatus::done);
}

TEST_F(CoordinatorTest, ADeviceThatIsGoneLeavesItsWorkToOthers) {
  SweepState state = sweep_of({{"good", "cuda:9"}, {"good", "cuda"}, {"good", "cuda"}});
  EXPECT_EQ(run(state, {"cuda:9", "cuda:0"}), SweepEnd::complete);
  EXPECT_EQ(state.items[0].status, ItemStatus::no_device);
  EXPECT_EQ(state.items[0].reason, "device cuda:9 cannot be used: gone");
  EXPECT_EQ(state.items[1].status, ItemStatus::done);
  EXPECT_EQ(state.items[2].status, ItemStatus::done);
  EXPECT_NE(events_.find("cuda:9: it cannot be used any more"), std::string::npos) << events_;
}

TEST_F(CoordinatorTest, ADeviceThatIsGoneIsSaidAlsoWhereTimeIsShort) {
  options_.time_left_s = 3;
  SweepState state = sweep_of({{"good", "cuda:9", 0.5}, {"good", "cuda:9", 0.5}});
  const SweepEnd end = run(state, {"cuda:9"});
  for (const ItemState& item : state.items) {
    EXPECT_EQ(item.status, ItemStatus::no_device);
    EXPECT_EQ(item.reason, "device cuda:9 cannot be used: gone");
  }
  EXPECT_EQ(sweep_exit_code(state, end), 1);
}

TEST_F(CoordinatorTest, AWinnerThatStandsNoMoreIsTunedInstead) {
  SweepState state = sweep_of({{"gone", "cpu", 1, 0.5, Action::retime}});
  EXPECT_EQ(run(state), SweepEnd::complete);
  EXPECT_EQ(state.items[0].status, ItemStatus::done);
  EXPECT_EQ(logged("start gone"), 2u);
}

TEST_F(CoordinatorTest, AtTheDeadlineWhatRunsIsAskedToEnd) {
  options_.time_left_s = 3;
  SweepState state = sweep_of({{"slow", "cpu", 1}, {"good", "cpu", 1}});
  EXPECT_EQ(run(state), SweepEnd::deadline);
  EXPECT_EQ(logged("stopped slow"), 1u);
  EXPECT_EQ(logged("start good"), 0u);
  EXPECT_EQ(state.items[0].status, ItemStatus::interrupted) << "it was begun";
  EXPECT_NE(state.items[0].reason.find("its trials are kept"), std::string::npos) << state.items[0].reason;
  EXPECT_NE(summary_text(state, SweepEnd::deadline).find("of 2 sessions 1 begun and interrupted, 1 not begun for want of time\n"), std::string::npos)
      << summary_text(state, SweepEnd::deadline);
  EXPECT_EQ(state.items[1].status, ItemStatus::no_time);
  EXPECT_TRUE(state.ended);
  EXPECT_EQ(sweep_exit_code(state, SweepEnd::deadline), 0);
}

TEST_F(CoordinatorTest, TheTimeIsDividedByWorth) {
  options_.time_left_s = 1000;
  SweepState state = sweep_of({{"good", "cpu", 2000, 0.6}, {"good", "cpu", 2000, 0.2}, {"good", "cpu", 100, 0.2}});
  EXPECT_EQ(run(state), SweepEnd::complete);
  // Of 999 s, 15 for all to begin with, 984 by worth: the last gets no more than the 125 that it needs, 600/800 of the rest for the first.
  double limit = 0;
  const std::string first = log().front();
  std::istringstream(first.substr(first.find("--time-limit ") + 13)) >> limit;
  EXPECT_NEAR(limit, 5 + 0.75 * (999 - 10 - 125), 1);
}

TEST_F(CoordinatorTest, TimeThatIsLeftGoesToWhatWasCut) {
  options_.time_left_s = 60;
  SweepState state = sweep_of({{"twice", "cpu", 50}, {"cut", "cpu", 50}, {"good", "cpu", 50}});
  EXPECT_EQ(run(state), SweepEnd::complete);
  EXPECT_EQ(logged("start twice"), 2u);
  EXPECT_EQ(logged("start cut"), 4u) << "three times more, and no further";
  EXPECT_EQ(logged("start good"), 1u);
  EXPECT_EQ(state.items[0].status, ItemStatus::done);
  EXPECT_EQ(state.items[1].status, ItemStatus::cut);
}

TEST_F(CoordinatorTest, WhatCannotEndInTimeIsNotBegun) {
  options_.time_left_s = 4;
  SweepState state = sweep_of({{"good", "cpu", 1000, 0.6}, {"good", "cpu", 1, 0.2}});
  EXPECT_EQ(run(state), SweepEnd::deadline);
  EXPECT_EQ(state.items[0].status, ItemStatus::no_time);
  EXPECT_EQ(state.items[1].status, ItemStatus::done);
}

TEST_F(CoordinatorTest, CtrlCKeepsTheRestForTheNextRun) {
  SweepState state = sweep_of({{"good", "cpu"}, {"slow", "cpu"}, {"good", "cpu"}});
  options_.stop = [this] { return logged("start slow") > 0; };
  EXPECT_EQ(run(state), SweepEnd::interrupted);
  EXPECT_FALSE(state.ended);
  EXPECT_EQ(state.items[0].status, ItemStatus::done);
  EXPECT_EQ(state.items[1].status, ItemStatus::interrupted);
  EXPECT_EQ(state.items[2].status, ItemStatus::pending);

  SweepState resumed = SweepState::load(options_.files.state);
  options_.stop = nullptr;
  for (FrozenItem& item : resumed.plan.items) item.item.kernel = "good";
  EXPECT_EQ(run(resumed), SweepEnd::complete);
  EXPECT_EQ(logged("end good n=1"), 1u);
  EXPECT_EQ(resumed.runs, 2);
  EXPECT_EQ(resumed.devices.at("cpu").sessions, 4);
}

TEST_F(CoordinatorTest, AFullDiskEndsEverythingUntilThereIsRoom) {
  SweepState state = sweep_of({{"full", "cuda:0"}, {"slow", "cuda:1"}, {"good", "cuda:0"}});
  EXPECT_EQ(run(state), SweepEnd::no_room);
  EXPECT_FALSE(state.ended);
  EXPECT_EQ(state.items[0].status, ItemStatus::no_room);
  EXPECT_EQ(state.items[2].status, ItemStatus::no_room);
  EXPECT_EQ(sweep_exit_code(state, SweepEnd::no_room), 1);
  for (FrozenItem& item : state.plan.items) item.item.kernel = "good";
  EXPECT_EQ(run(state), SweepEnd::complete);
  EXPECT_EQ(sweep_exit_code(state, SweepEnd::complete), 0);
}

TEST_F(CoordinatorTest, AStateThatCannotBeWrittenIsToldAndTheSweepGoesOn) {
  options_.files.state = "/no/such/folder/state.json";
  SweepState state = sweep_of({{"good", "cpu"}});
  EXPECT_EQ(run(state), SweepEnd::complete);
  EXPECT_EQ(state.items[0].status, ItemStatus::done);
  EXPECT_NE(events_.find("the state of the sweep is not kept"), std::string::npos) << events_;
}

TEST_F(CoordinatorTest, DurationsAreForPeople) {
  EXPECT_EQ(duration_text(41.6), "42 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7500), "2 h 5 min");
}

}  // namespace
}  // namespace tunebook
