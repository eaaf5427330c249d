// The process of a session: what it says, how it ends, and that it ends with its parent. Shell commands stand in for sessions.
#include "sweep/session_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "session/event_loop.h"

namespace tunebook {
namespace {

constexpr double kLongSeconds = 60;  // never waited for unless something is broken

struct Ended {
  std::vector<nlohmann::json> progress;
  std::optional<SessionExit> exit;
};

Ended run(const std::string& script, const std::function<void(SessionProcess&)>& meanwhile = {}) {
  EventLoop loop;
  Ended ended;
  SessionProcess process(loop, {"/bin/sh", "-c", script}, {{"SWEEP_TEST", "value"}},
                         {[&](const nlohmann::json& line) { ended.progress.push_back(line); }, [&](SessionExit exit) { ended.exit = std::move(exit); }});
  if (meanwhile) meanwhile(process);
  EXPECT_TRUE(loop.run_until([&] { return ended.exit.has_value(); }, kLongSeconds));
  return ended;
}

TEST(SessionProcess, GivesOutputProgressAndExitCode) {
  const Ended ended = run(R"(echo '{"stage":"device"}' >&3; echo '{"step":"search","done":1}' >&3; echo no json >&3; echo result $SWEEP_TEST; echo why >&2; exit 3)");
  ASSERT_TRUE(ended.exit);
  EXPECT_EQ(ended.exit->code, 3);
  EXPECT_EQ(ended.exit->signal, 0);
  EXPECT_EQ(ended.exit->out, "result value\n");
  EXPECT_EQ(ended.exit->error_output, "why\n");
  EXPECT_EQ(ended.exit->stage, "device");
  ASSERT_EQ(ended.progress.size(), 2U);
  EXPECT_EQ(ended.progress[1]["done"], 1);
}

TEST(SessionProcess, KeepsTheEndOfWhatItPrints) {
  const Ended ended = run("i=0; while [ $i -lt 4000 ]; do echo line $i >&2; i=$((i+1)); done");
  ASSERT_TRUE(ended.exit);
  EXPECT_LT(ended.exit->error_output.size(), 20000u);
  EXPECT_TRUE(ended.exit->error_output.ends_with("line 3999\n"));
}

TEST(SessionProcess, ASignalIsNoExitCode) {
  const Ended ended = run("kill -SEGV $$");
  ASSERT_TRUE(ended.exit);
  EXPECT_EQ(ended.exit->code, -1);
  EXPECT_EQ(ended.exit->signal, SIGSEGV);
}

TEST(SessionProcess, StopAsksItToEnd) {
  const Ended ended = run("trap 'echo stopped; exit 1' TERM; echo '{}' >&3; while :; do sleep 0.01; done", [](SessionProcess& process) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // until the trap is there
    process.stop();
  });
  ASSERT_TRUE(ended.exit);
  EXPECT_EQ(ended.exit->out, "stopped\n");
  EXPECT_EQ(ended.exit->code, 1);
}

TEST(SessionProcess, KillReachesItsChildren) {
  const Ended ended = run("sleep 1000 & wait", [](SessionProcess& process) { process.kill(); });
  ASSERT_TRUE(ended.exit);
  EXPECT_EQ(ended.exit->signal, SIGKILL);
}

TEST(SessionProcess, AProgramThatIsNotThereIsReported) {
  EventLoop loop;
  std::optional<SessionExit> ended;
  SessionProcess process(loop, {"/no/such/program"}, {}, {{}, [&](SessionExit exit) { ended = std::move(exit); }});
  EXPECT_TRUE(loop.run_until([&] { return ended.has_value(); }, kLongSeconds));
  EXPECT_NE(ended->start_error.find("/no/such/program"), std::string::npos);
  EXPECT_EQ(process.pid(), -1);
}

TEST(SessionProcess, IsKilledWithItsObject) {
  EventLoop loop;
  auto process = std::make_unique<SessionProcess>(loop, std::vector<std::string>{"/bin/sh", "-c", "sleep 1000"},
                                                  std::vector<std::pair<std::string, std::string>>{}, SessionProcess::Callbacks{});
  const int pid = process->pid();
  ASSERT_GT(pid, 0);
  process.reset();
  loop.run_until([&] { return ::kill(pid, 0) != 0; }, kLongSeconds);
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(SessionProcess, TheCallbackMayDestroyIt) {
  EventLoop loop;
  std::unique_ptr<SessionProcess> process;
  bool ended = false;
  process = std::make_unique<SessionProcess>(loop, std::vector<std::string>{"/bin/sh", "-c", "exit 0"},
                                             std::vector<std::pair<std::string, std::string>>{}, SessionProcess::Callbacks{{}, [&](SessionExit) {
                                               process.reset();
                                               ended = true;
                                             }});
  EXPECT_TRUE(loop.run_until([&] { return ended; }, kLongSeconds));
  EXPECT_EQ(process, nullptr);
}

}  // namespace
}  // namespace tunebook
