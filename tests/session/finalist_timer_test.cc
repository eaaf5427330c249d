// Finalists and their baseline in fresh processes that misbehave on demand.
#include "session/finalist_timer.h"

#include <filesystem>
#include <string>

#include "process_test_support.h"
#include "core/error.h"

namespace tunebook {
namespace {

class FinalistTimerTest : public ProcessTest {
 protected:
  FinalistTimerTest() : mark_(std::filesystem::temp_directory_path() / ("tunebook_finalists_" + std::to_string(::getpid()))) {
    std::filesystem::remove(mark_);
    setup_.problems.resize(1);
    setup_.problems.front().display = "n=1";
    timing_.plan.processes = 3;
    timing_.step_s = 20;
  }
  ~FinalistTimerTest() override { std::filesystem::remove(mark_); }

  static FinalistCandidate candidate(std::int64_t value, const std::string& symbol) {
    FinalistCandidate result;
    result.configuration.set("TILE", value);
    result.launch.launches = {{"kernel.cubin", symbol, {}}};
    return result;
  }
  // `how` is what the fake worker does with it.
  FinalistTimes run_with_baseline(const std::string& how, const std::string& second = "good") {
    ProblemLaunch baseline;
    baseline.baseline = BaselineLaunch{how, {0, 1, 2}, {{"m", "7"}}};
    timing_.baseline = baseline;
    EventLoop loop;
    return time_in_fresh_processes(loop, fake_worker(WorkerRole::runner), setup_, {candidate(1, "good"), candidate(2, second)}, timing_);
  }
  static void expect_complete(const FinalistTimes& times, std::size_t candidates = 2) {
    ASSERT_EQ(times.finalists.size(), candidates);
    for (const Finalist& finalist : times.finalists) EXPECT_EQ(finalist.process_medians_us, (std::vector<double>{1, 1, 1}));
  }

  std::filesystem::path mark_;
  SetupRequest setup_;
  FinalistTiming timing_;
};

TEST_F(FinalistTimerTest, WithoutABaselineNothingIsSaidOfOne) {
  EventLoop loop;
  const FinalistTimes times = time_in_fresh_processes(loop, fake_worker(WorkerRole::runner), setup_, {candidate(1, "good"), candidate(2, "good")}, timing_);
  expect_complete(times);
  EXPECT_FALSE(times.baseline);
}

TEST_F(FinalistTimerTest, WithoutTimeLeftOneProcessIsEnough) {
  for (const auto& [seconds, processes] : {std::pair<double, std::size_t>{0, 1}, {3600, 3}}) {
    timing_.plan.seconds = seconds;
    EventLoop loop;
    const FinalistTimes times = time_in_fresh_processes(loop, fake_worker(WorkerRole::runner), setup_, {candidate(1, "good"), candidate(2, "good")}, timing_);
    ASSERT_EQ(times.finalists.size(), 2u);
    for (const Finalist& finalist : times.finalists) EXPECT_EQ(finalist.process_medians_us.size(), processes);
  }
}

TEST_F(FinalistTimerTest, ABaselineIsTimedInEachProcess) {
  const FinalistTimes times = run_with_baseline("gemm");
  expect_complete(times);
  ASSERT_TRUE(times.baseline);
  EXPECT_EQ(times.baseline->operation, "gemm");
  EXPECT_EQ(times.baseline->state, BaselineState::ok);
  EXPECT_EQ(times.baseline->name, "fake library 1.2");
  EXPECT_EQ(times.baseline->message, "its algorithm");
  EXPECT_EQ(times.baseline->process_medians_us, (std::vector<double>{2, 2, 2}));
}

TEST_F(FinalistTimerTest, ABaselineThatIsNotThereOrWrongCostsNothing) {
  for (const BaselineState state : {BaselineState::unavailable, BaselineState::wrong_result, BaselineState::failed}) {
    const FinalistTimes times = run_with_baseline("baseline " + std::string(baseline_state_name(state)));
    expect_complete(times);
    ASSERT_TRUE(times.baseline);
    EXPECT_EQ(times.baseline->state, state);
    EXPECT_EQ(times.baseline->message, "as told");
    EXPECT_TRUE(times.baseline->process_medians_us.empty());
  }
}

TEST_F(FinalistTimerTest, ABaselineThatEndsOnceIsOutForGood) {
  // In the first process it is not there, afterwards it would be: times that are not paired are none.
  const FinalistTimes times = run_with_baseline("first " + mark_.string() + " baseline unavailable");
  expect_complete(times);
  ASSERT_TRUE(times.baseline);
  EXPECT_EQ(times.baseline->state, BaselineState::unavailable);
  EXPECT_TRUE(times.baseline->process_medians_us.empty());
}

TEST_F(FinalistTimerTest, ABaselineThatKillsItsProcessIsFoundOutAndTheOthersAreTimedWithoutIt) {
  const FinalistTimes times = run_with_baseline("segv");
  expect_complete(times);
  ASSERT_TRUE(times.baseline);
  EXPECT_EQ(times.baseline->state, BaselineState::failed);
  EXPECT_NE(times.baseline->message.find("signal 11"), std::string::npos) << times.baseline->message;
}

TEST_F(FinalistTimerTest, AlgorithmsThatOneProcessFoundFastAreEnoughForTheOthers) {
  const FinalistTimes times = run_with_baseline("choosing");
  ASSERT_TRUE(times.baseline);
  EXPECT_EQ(times.baseline->state, BaselineState::ok);
  EXPECT_EQ(times.baseline->message, "this or that") << "of the last process";
  EXPECT_EQ(times.baseline->process_medians_us.size(), 3u);
}

TEST_F(FinalistTimerTest, ACandidateThatKillsItsProcessIsNotBlamedOnTheBaseline) {
  const FinalistTimes times = run_with_baseline("gemm", "segv");
  expect_complete(times, 1);
  ASSERT_TRUE(times.baseline);
  EXPECT_EQ(times.baseline->state, BaselineState::ok);
  EXPECT_EQ(times.baseline->process_medians_us, (std::vector<double>{2, 2, 2}));
}

}  // namespace
}  // namespace tunebook
