#include "session/runner.h"

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "process_test_support.h"

namespace tunebook {
namespace {

constexpr double kPatience = 60;  // of the tests, on a machine that is busy

// A path that does not exist yet.
std::string fresh_marker() {
  static int count = 0;
  return testing::TempDir() + "tunebook-runner-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

SetupRequest setup(const std::string& how) {
  SetupRequest request;
  request.problems = {{0, how, {}, {}}};
  return request;
}

ProblemLaunch launch(const std::string& how) {
  ProblemLaunch result;
  result.launches = {{"", how, {}}};
  return result;
}

RunRequest trial(std::int64_t id, const std::string& verify, const std::string& time) {
  RunRequest request;
  request.id = id;
  request.verify = {launch(verify)};
  request.time = launch(time);
  return request;
}

struct Harness {
  explicit Harness(WorkerCommand command, double step_s = kPatience) {
    Runner::Callbacks callbacks;
    callbacks.on_idle = [this] {
      if (then_on_idle) std::exchange(then_on_idle, nullptr)();
    };
    callbacks.on_dead = [this](const std::string& why) { dead = why; };
    Runner::Limits limits;
    limits.step_s = step_s;
    runner = std::make_unique<Runner>(loop, std::move(command), limits, std::move(callbacks));
  }
  bool wait_idle() {
    return loop.run_until([this] { return runner->idle() || !dead.empty(); }, kPatience) && dead.empty();
  }
  // The answer to a trial.
  RunReply run(RunRequest request) {
    EXPECT_TRUE(wait_idle()) << dead;
    RunReply answer;
    bool answered = false;
    runner->run(std::move(request), 0, [&](RunReply reply) {
      answer = std::move(reply);
      answered = true;
    });
    EXPECT_TRUE(loop.run_until([&] { return answered; }, kPatience));
    return answer;
  }

  EventLoop loop;
  std::string dead;
  std::function<void()> then_on_idle;
  std::unique_ptr<Runner> runner;
};

struct Loss {
  std::string how;
  std::string says;
};

// What may happen to a worker at any time, and what is said about it.
const std::vector<Loss>& losses() {
  static const std::vector<Loss> all = {{"kill", "was killed by signal 9"},
                                        {"stop", "was stopped by a signal from outside"},
                                        {"segv", "was killed by signal 11"},
                                        {"exit", "ended with exit code 7"},
                                        {"close", "closed its channel"},
                                        {"cut short", "ended with exit code 0"},
                                        {"not MessagePack", "sent something malformed"},
                                        {"too long", "sent something malformed"},
                                        {"no map", "sent something malformed"},
                                        {"wrong field", "sent something malformed"},
                                        {"unknown id", "sent something malformed"},
                                        {"huge length inside", "sent something malformed"},
                                        {"unknown type", "sent something malformed"},
                                        {"wrong type", "sent something malformed"},
                                        {"second hello", "sent something malformed"}};
  return all;
}

using RunnerTest = ProcessTest;

TEST_F(RunnerTest, EveryLossInATrialIsThatTrialsOutcome) {
  for (const std::string place : {"verify", "time"}) {
    for (const Loss& loss : losses()) {
      SCOPED_TRACE(place + ": " + loss.how);
      Harness harness(fake_worker(WorkerRole::runner));
      harness.runner->set_setup(setup("ok"));
      const std::string first = harness.run(trial(1, "ok", "ok")).message;
      const RunReply lost = harness.run(place == "verify" ? trial(2, loss.how, "ok") : trial(2, "ok", loss.how));
      EXPECT_EQ(lost.id, 2);
      EXPECT_EQ(lost.outcome, Outcome::worker_lost);
      EXPECT_NE(lost.message.find(loss.says), std::string::npos) << lost.message;
      EXPECT_NE(lost.message.find("in step '" + place + "'"), std::string::npos) << lost.message;
      const RunReply next = harness.run(trial(3, "ok", "ok"));
      EXPECT_EQ(next.outcome, Outcome::ok);
      EXPECT_NE(next.message, first) << "not a fresh process";
      EXPECT_EQ(harness.dead, "");
    }
  }
}

// Before there is a trial, a loss costs a start; the next process goes on.
TEST_F(RunnerTest, EveryLossBeforeATrialCostsAStart) {
  for (const std::string place : {"FAKE_START", "FAKE_WARM_UP", "set-up"}) {
    for (const Loss& loss : losses()) {
      SCOPED_TRACE(place + ": " + loss.how);
      const std::string marker = fresh_marker();
      const std::string how = "first " + marker + " " + loss.how;
      WorkerCommand command = fake_worker(WorkerRole::runner);
      if (place != "set-up") command.environment = {{place, how}};
      Harness harness(command);
      harness.runner->set_setup(setup(place == "set-up" ? how : "ok"));
      EXPECT_EQ(harness.run(trial(1, "ok", "ok")).outcome, Outcome::ok) << harness.dead;
      EXPECT_EQ(::access(marker.c_str(), F_OK), 0) << "nothing happened";
      ::unlink(marker.c_str());
    }
  }
}

TEST_F(RunnerTest, ALossWhileIdleCostsNoTrial) {
  for (const int signal : {SIGKILL, SIGSEGV, SIGTERM}) {
    Harness harness(fake_worker(WorkerRole::runner));
    harness.runner->set_setup(setup("ok"));
    const pid_t first = std::stoi(harness.run(trial(1, "ok", "ok")).message);
    ASSERT_TRUE(harness.wait_idle());
    ::kill(first, signal);
    ASSERT_TRUE(harness.loop.run_until([&] { return !harness.runner->idle(); }, kPatience));
    const RunReply next = harness.run(trial(2, "ok", "ok"));
    EXPECT_EQ(next.outcome, Outcome::ok);
    EXPECT_NE(next.message, std::to_string(first));
  }
}

TEST_F(RunnerTest, StoppedWhileIdleItIsFoundByTheNextTrial) {
  Harness harness(fake_worker(WorkerRole::runner));
  harness.runner->set_setup(setup("ok"));
  const pid_t first = std::stoi(harness.run(trial(1, "ok", "ok")).message);
  ::kill(first, SIGSTOP);
  const RunReply lost = harness.run(trial(2, "ok", "ok"));
  EXPECT_EQ(lost.outcome, Outcome::worker_lost);
  EXPECT_NE(lost.message.find("was stopped by a signal from outside"), std::string::npos) << lost.message;
  EXPECT_EQ(harness.run(trial(3, "ok", "ok")).outcome, Outcome::ok);
}

// A kernel that hangs, or prints without end, is no lost worker.
TEST_F(RunnerTest, WhatTakesTooLongIsATimeout) {
  for (const std::string how : {"hang", "endless output"}) {
    SCOPED_TRACE(how);
    Harness harness(fake_worker(WorkerRole::runner), 1);
    harness.runner->set_setup(setup("ok"));
    const RunReply late = harness.run(trial(1, how, "ok"));
    EXPECT_EQ(late.outcome, Outcome::run_timeout);
    EXPECT_TRUE(late.message.starts_with("did not end within 1 s in step 'verify'")) << late.message.substr(0, 200);
    EXPECT_LT(late.message.size(), 4096U);
    EXPECT_EQ(harness.run(trial(2, "ok", "ok")).outcome, Outcome::ok);
  }
}

// One that is stopped on purpose and continued again (a batch system does that to whole sessions) is not lost.
TEST_F(RunnerTest, StoppedForAMomentItGoesOn) {
  Harness harness(fake_worker(WorkerRole::runner));
  harness.runner->set_setup(setup("ok"));
  const pid_t process = std::stoi(harness.run(trial(1, "ok", "ok")).message);
  ::kill(process, SIGSTOP);
  Timer go_on(harness.loop, [&] { ::kill(process, SIGCONT); });
  go_on.start(1);
  EXPECT_EQ(harness.run(trial(2, "ok", "ok")).outcome, Outcome::ok);
}

TEST_F(RunnerTest, ADeviceThatAlwaysFailsIsDead) {
  WorkerCommand command = fake_worker(WorkerRole::runner);
  command.environment = {{"FAKE_WARM_UP", "exit"}};
  Harness harness(command);
  harness.runner->set_setup(setup("ok"));
  EXPECT_FALSE(harness.wait_idle());
  EXPECT_NE(harness.dead.find("ended with exit code 7:\ncannot go on"), std::string::npos) << harness.dead;
}

TEST_F(RunnerTest, TheDeviceIsOpenedBeforeAnySetUp) {
  Harness harness(fake_worker(WorkerRole::runner));
  ASSERT_TRUE(harness.loop.run_until([&] { return harness.runner->hello().has_value(); }, kPatience));
  harness.runner->open_device();
  ASSERT_TRUE(harness.loop.run_until([&] { return harness.runner->opened(); }, kPatience));
  EXPECT_FALSE(harness.runner->idle()) << "nothing is set up";
  harness.runner->set_setup(setup("ok"));
  EXPECT_EQ(harness.run(trial(1, "ok", "ok")).outcome, Outcome::ok);
}

// The next trial is under way before the caller works with the answer; what it then waits for is no idle time of the runner.
TEST_F(RunnerTest, TheNextTrialIsSentBeforeTheAnswerIsHandedOn) {
  Harness harness(fake_worker(WorkerRole::runner));
  harness.runner->set_setup(setup("ok"));
  ASSERT_TRUE(harness.wait_idle());
  std::vector<std::string> order;
  harness.then_on_idle = [&] {
    order.push_back("idle");
    harness.runner->run(trial(2, "ok", "ok"), 0, [&](RunReply) { order.push_back("second answer"); });
  };
  harness.runner->run(trial(1, "ok", "ok"), 0, [&](RunReply reply) {
    EXPECT_EQ(reply.id, 1);
    order.push_back("first answer");
  });
  ASSERT_TRUE(harness.loop.run_until([&] { return order.size() == 3; }, kPatience));
  EXPECT_EQ(order, (std::vector<std::string>{"idle", "first answer", "second answer"}));
  const double before = harness.runner->idle_seconds();
  harness.loop.run_until([] { return false; }, 0.3);
  EXPECT_EQ(harness.runner->idle_seconds(), before) << "nothing came after it yet";
  harness.run(trial(3, "ok", "ok"));
  EXPECT_GE(harness.runner->idle_seconds(), before + 0.29);
}

}  // namespace
}  // namespace tunebook
