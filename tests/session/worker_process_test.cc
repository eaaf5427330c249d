#include "session/worker_process.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "process_test_support.h"

namespace tunebook {
namespace {

using Kind = LostReason::Kind;

constexpr double kPatience = 20;  // of the tests, on a machine that is busy
constexpr double kDeadline = 0.2;

// One worker and all that it said.
struct Watched {
  explicit Watched(const WorkerCommand& command, double start_seconds = kPatience) {
    WorkerCallbacks callbacks;
    callbacks.on_hello = [this](const Hello& found) { hello = found; };
    callbacks.on_reply = [this](Reply reply) { replies.push_back(std::move(reply)); };
    callbacks.on_lost = [this](const LostReason& reason) {
      EXPECT_FALSE(lost.has_value());
      lost = reason;
    };
    worker = std::make_unique<WorkerProcess>(loop, command, std::move(callbacks), start_seconds);
  }
  bool wait_ready() {
    return loop.run_until([this] { return hello.has_value() || lost.has_value(); }, kPatience) && hello.has_value();
  }
  bool wait_lost() {
    return loop.run_until([this] { return lost.has_value(); }, kPatience);
  }
  bool wait_replies(std::size_t count) {
    return loop.run_until([this, count] { return replies.size() >= count || lost; }, kPatience) && replies.size() >= count;
  }

  EventLoop loop;
  std::optional<Hello> hello;
  std::vector<Reply> replies;
  std::optional<LostReason> lost;
  std::unique_ptr<WorkerProcess> worker;
};

CompileRequest compile(std::int64_t id, std::string how) {
  CompileRequest request;
  request.id = id;
  request.source.text = "artifact " + std::to_string(id);
  request.arch = std::move(how);
  return request;
}

// A runner's set-up goes through these in order, a stage for each.
SetupRequest setup(const std::vector<std::string>& steps) {
  SetupRequest request;
  request.id = 5;
  for (const std::string& step : steps) request.problems.push_back({0, step, {}, {}});
  return request;
}

using WorkerProcessTest = ProcessTest;

TEST_F(WorkerProcessTest, AnswersOneRequestAfterTheOther) {
  Watched watched(fake_worker(WorkerRole::compiler));
  ASSERT_TRUE(watched.wait_ready());
  EXPECT_EQ(watched.hello->toolchain, "fake 1.0");
  EXPECT_EQ(watched.hello->environment["stdin"], -1);  // end of file
  for (std::int64_t id = 1; id <= 3; ++id) {
    EXPECT_TRUE(watched.worker->ready());
    watched.worker->send(compile(id, "ok"));
    watched.worker->arm_deadline(kPatience);
    EXPECT_TRUE(watched.worker->busy());
    EXPECT_THROW(watched.worker->send(compile(9, "ok")), std::logic_error);
    ASSERT_TRUE(watched.wait_replies(static_cast<std::size_t>(id)));
    EXPECT_EQ(std::get<CompileReply>(watched.replies.back()).artifact, "artifact " + std::to_string(id));
  }
  bool done = false;
  watched.worker->shut_down([&] { done = true; });
  EXPECT_TRUE(watched.loop.run_until([&] { return done; }, kPatience));
  EXPECT_FALSE(watched.lost.has_value());
}

TEST_F(WorkerProcessTest, LargeMessagesPassBothWays) {
  Watched watched(fake_worker(WorkerRole::compiler));
  ASSERT_TRUE(watched.wait_ready());
  CompileRequest request = compile(1, "ok");
  request.source.text = std::string(std::size_t{1} << 20, 'k');
  watched.worker->send(request);
  ASSERT_TRUE(watched.wait_replies(1));
  EXPECT_EQ(std::get<CompileReply>(watched.replies[0]).artifact, request.source.text);
}

WorkerCommand two_at_once() {
  WorkerCommand command = fake_worker(WorkerRole::compiler);
  command.max_in_flight = 2;
  return command;
}

TEST_F(WorkerProcessTest, TwoRequestsAreAnsweredInAnyOrder) {
  Watched watched(two_at_once());
  ASSERT_TRUE(watched.wait_ready());
  watched.worker->send(compile(1, "after another"));
  EXPECT_TRUE(watched.worker->ready());
  EXPECT_TRUE(watched.worker->busy());
  EXPECT_THROW(watched.worker->send(compile(1, "ok")), std::logic_error);  // the same id
  watched.worker->send(compile(2, "ok"));
  EXPECT_FALSE(watched.worker->ready());
  EXPECT_THROW(watched.worker->send(compile(3, "ok")), std::logic_error);
  ASSERT_TRUE(watched.wait_replies(2));
  // The second ends first, but which answer is on the wire first is up to the threads.
  std::map<std::int64_t, std::string> artifacts;
  for (const Reply& reply : watched.replies) artifacts[std::get<CompileReply>(reply).id] = std::get<CompileReply>(reply).artifact;
  EXPECT_EQ(artifacts, (std::map<std::int64_t, std::string>{{1, "artifact 1"}, {2, "artifact 2"}}));
  EXPECT_TRUE(watched.worker->ready());
  EXPECT_FALSE(watched.worker->busy());
}

TEST_F(WorkerProcessTest, EachRequestHasItsDeadline) {
  for (const std::int64_t impatient : {1, 2}) {
    Watched watched(two_at_once());
    ASSERT_TRUE(watched.wait_ready());
    for (std::int64_t id = 1; id <= 2; ++id) {
      watched.worker->send(compile(id, "hang"));
      watched.worker->arm_deadline(id == impatient ? kDeadline : kPatience);
    }
    ASSERT_TRUE(watched.wait_lost());
    EXPECT_EQ(watched.lost->kind, Kind::deadline);
    EXPECT_EQ(watched.lost->request, impatient);
    EXPECT_EQ(watched.lost->deadline_s, kDeadline);
  }
}

TEST_F(WorkerProcessTest, AStageRestartsTheClockOfItsRequestOnly) {
  Watched watched(two_at_once());
  ASSERT_TRUE(watched.wait_ready());
  watched.worker->send(compile(1, "stages"));  // 8 in 0.8 s
  watched.worker->arm_deadline(0.6);
  watched.worker->send(compile(2, "hang"));
  watched.worker->arm_deadline(1.6);
  ASSERT_TRUE(watched.wait_lost());
  EXPECT_EQ(watched.replies.size(), 1u);
  EXPECT_EQ(watched.lost->request, 2);
  EXPECT_EQ(watched.lost->stage, "");
}

TEST_F(WorkerProcessTest, AllDeadlinesStandStillWhileSuspended) {
  Watched watched(two_at_once());
  ASSERT_TRUE(watched.wait_ready());
  for (std::int64_t id = 1; id <= 2; ++id) {
    watched.worker->send(compile(id, "sleep 50"));
    watched.worker->arm_deadline(1);
  }
  watched.worker->suspend();
  watched.loop.run_until([&] { return watched.lost.has_value() || !watched.replies.empty(); }, 1.3);
  EXPECT_FALSE(watched.lost.has_value());
  EXPECT_TRUE(watched.replies.empty());
  watched.worker->resume();
  EXPECT_TRUE(watched.wait_replies(2));
}

TEST_F(WorkerProcessTest, ACrashWithTwoRequestsNamesNone) {
  Watched watched(two_at_once());
  ASSERT_TRUE(watched.wait_ready());
  watched.worker->send(compile(1, "hang"));
  watched.worker->send(compile(2, "segv"));
  ASSERT_TRUE(watched.wait_lost());
  EXPECT_EQ(watched.lost->kind, Kind::signalled);
  EXPECT_FALSE(watched.lost->request.has_value());
  EXPECT_TRUE(watched.replies.empty());
}

struct Fault {
  std::string how;
  Kind kind;
  int code;
};

TEST_F(WorkerProcessTest, EachFaultDuringARequestHasItsReason) {
  const std::vector<Fault> faults = {
      {"hang", Kind::deadline, 0},           {"stop", Kind::stopped, 0},
      {"endless output", Kind::deadline, 0}, {"exit", Kind::exited, 7},
      {"abort", Kind::signalled, SIGABRT},   {"segv", Kind::signalled, SIGSEGV},
      {"kill", Kind::signalled, SIGKILL},    {"not MessagePack", Kind::protocol_error, 0},
      {"too long", Kind::protocol_error, 0}, {"wrong id", Kind::protocol_error, 0},
      {"wrong type", Kind::protocol_error, 0}, {"unknown type", Kind::protocol_error, 0},
      {"second hello", Kind::protocol_error, 0}, {"close", Kind::closed, 0}};
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.how);
    Watched watched(fake_worker(WorkerRole::compiler));
    ASSERT_TRUE(watched.wait_ready());
    watched.worker->send(compile(1, fault.how));
    watched.worker->arm_deadline(fault.kind == Kind::deadline ? kDeadline : kPatience);
    ASSERT_TRUE(watched.wait_lost());
    EXPECT_EQ(watched.lost->kind, fault.kind) << watched.lost->describe();
    EXPECT_EQ(watched.lost->code, fault.code);
    EXPECT_FALSE(watched.worker->ready());
    EXPECT_TRUE(watched.replies.empty());
    EXPECT_LE(watched.lost->error_output.size(), std::size_t{16} << 10);
    if (fault.how == "exit") {
      EXPECT_EQ(watched.lost->error_output, "cannot go on\n");
    }
    if (fault.how == "endless output") {
      EXPECT_EQ(watched.lost->error_output.size(), std::size_t{16} << 10);
    }
    watched.worker->send(compile(2, "ok"));  // to nobody: no harm
  }
}

TEST_F(WorkerProcessTest, EachFaultAtTheStartHasItsReason) {
  const std::vector<Fault> faults = {{"hang", Kind::deadline, 0},
                                     {"endless output", Kind::deadline, 0},
                                     {"exit", Kind::exited, 7},
                                     {"not MessagePack", Kind::protocol_error, 0},
                                     {"wrong type", Kind::protocol_error, 0},
                                     {"other role", Kind::protocol_error, 0},
                                     {"other version", Kind::protocol_error, 0}};
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.how);
    Watched watched(fake_worker(WorkerRole::runner, fault.how),
                    fault.kind == Kind::deadline ? kDeadline : kPatience);
    ASSERT_TRUE(watched.wait_lost());
    EXPECT_EQ(watched.lost->kind, fault.kind) << watched.lost->describe();
    EXPECT_EQ(watched.lost->code, fault.code);
    EXPECT_FALSE(watched.hello.has_value());
    if (fault.kind == Kind::deadline) {
      EXPECT_EQ(watched.lost->stage, "start");
    }
  }
}

TEST_F(WorkerProcessTest, AMissingProgramIsNamed) {
  WorkerCommand command;
  command.program = "/nonexistent/tunebook-cuda-worker";
  Watched watched(command);
  EXPECT_FALSE(watched.lost.has_value());  // reported from the loop
  ASSERT_TRUE(watched.wait_lost());
  EXPECT_EQ(watched.lost->kind, Kind::could_not_start);
  EXPECT_NE(watched.lost->describe().find("/nonexistent/tunebook-cuda-worker"), std::string::npos);
  EXPECT_NE(watched.lost->describe().find("TUNEBOOK_WORKER_DIR"), std::string::npos);
  EXPECT_EQ(watched.worker->pid(), -1);
}

TEST_F(WorkerProcessTest, StagesRestartTheClockAndTheLastOneIsTold) {
  Watched watched(fake_worker(WorkerRole::runner));
  ASSERT_TRUE(watched.wait_ready());
  const auto begin = std::chrono::steady_clock::now();
  watched.worker->send(setup({"sleep 350", "sleep 350", "hang"}));
  watched.worker->arm_deadline(0.6);
  ASSERT_TRUE(watched.wait_lost());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(watched.lost->kind, Kind::deadline);
  EXPECT_EQ(watched.lost->stage, "hang");
  EXPECT_EQ(watched.lost->describe(), "did not finish the step \"hang\" within 0.6 s");
  EXPECT_GE(elapsed.count(), 1.3);  // never early
}

TEST_F(WorkerProcessTest, ASuspendedWorkersDeadlineStandsStill) {
  Watched watched(fake_worker(WorkerRole::compiler));
  ASSERT_TRUE(watched.wait_ready());
  watched.worker->send(compile(1, "sleep 50"));
  watched.worker->arm_deadline(1);
  watched.worker->suspend();
  watched.loop.run_until([&] { return watched.lost.has_value() || !watched.replies.empty(); }, 1.3);
  EXPECT_FALSE(watched.lost.has_value());
  EXPECT_TRUE(watched.replies.empty());
  watched.worker->resume();
  EXPECT_TRUE(watched.wait_replies(1));
}

TEST_F(WorkerProcessTest, AnAnswerThatWaitedForABusyCoordinatorIsNotLate) {
  Watched watched(fake_worker(WorkerRole::compiler));
  ASSERT_TRUE(watched.wait_ready());
  watched.worker->send(compile(1, "ok"));
  watched.worker->arm_deadline(0.1);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_TRUE(watched.wait_replies(1));
}

TEST_F(WorkerProcessTest, ItsChildrenDieWithIt) {
  for (const std::string how : {"hang with child", "crash with child"}) {
    SCOPED_TRACE(how);
    Watched watched(fake_worker(WorkerRole::compiler));
    ASSERT_TRUE(watched.wait_ready());
    watched.worker->send(compile(1, how));
    watched.worker->arm_deadline(1);
    ASSERT_TRUE(watched.wait_lost());
    const pid_t child = child_pid(watched.lost->error_output);
    ASSERT_GT(child, 0);
    EXPECT_TRUE(reap_orphan(child));
  }
}

TEST_F(WorkerProcessTest, DestroyingKillsAtAnyMoment) {
  { Watched at_once(fake_worker(WorkerRole::compiler)); }
  {
    Watched busy(fake_worker(WorkerRole::compiler));
    ASSERT_TRUE(busy.wait_ready());
    busy.worker->send(compile(1, "hang"));
    busy.loop.run_until([] { return false; }, 0.02);
  }
  {
    Watched deaf(fake_worker(WorkerRole::runner, "stop"));
    deaf.loop.run_until([] { return false; }, 0.05);
    deaf.worker->shut_down();  // and the destructors right after
  }
}

TEST_F(WorkerProcessTest, ItMayBeDestroyedInItsCallbacks) {
  EventLoop loop;
  int calls = 0;
  std::unique_ptr<WorkerProcess> worker;
  const auto destroy = [&] {
    ++calls;
    worker.reset();
  };
  WorkerCallbacks callbacks;
  callbacks.on_hello = [&](const Hello&) { destroy(); };
  worker = std::make_unique<WorkerProcess>(loop, fake_worker(WorkerRole::compiler), callbacks, kPatience);
  EXPECT_TRUE(loop.run_until([&] { return !worker; }, kPatience));

  callbacks.on_hello = [&](const Hello&) { worker->send(compile(1, "ok")); };
  callbacks.on_reply = [&](Reply) { destroy(); };
  worker = std::make_unique<WorkerProcess>(loop, fake_worker(WorkerRole::compiler), callbacks, kPatience);
  EXPECT_TRUE(loop.run_until([&] { return !worker; }, kPatience));

  callbacks.on_hello = {};
  callbacks.on_lost = [&](const LostReason&) { destroy(); };
  worker = std::make_unique<WorkerProcess>(loop, fake_worker(WorkerRole::compiler, "exit"), callbacks, kPatience);
  EXPECT_TRUE(loop.run_until([&] { return !worker; }, kPatience));
  loop.run();
  EXPECT_EQ(calls, 3);
}

TEST(WorkerProgram, IsFoundByVariableElseBesideTheProgram) {
  ::unsetenv("TUNEBOOK_WORKER_DIR");
  EXPECT_TRUE(worker_program("cpu").ends_with("/tunebook-cpu-worker"));
  ::setenv("TUNEBOOK_WORKER_DIR", "/some/folder", 1);
  EXPECT_EQ(worker_program("cuda"), "/some/folder/tunebook-cuda-worker");
  ::unsetenv("TUNEBOOK_WORKER_DIR");
}

}  // namespace
}  // namespace tunebook
