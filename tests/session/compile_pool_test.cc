#include "session/compile_pool.h"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "process_test_support.h"
#include "session/host_resources.h"

namespace tunebook {
namespace {

constexpr double kPatience = 20;

CompilePoolOptions pool_options(int workers, const std::string& how_it_starts = "") {
  CompilePoolOptions options;
  options.worker = fake_worker(WorkerRole::compiler, how_it_starts);
  options.workers = workers;
  options.timeout_s = kPatience;
  options.start_timeout_s = kPatience;
  return options;
}

// With workers that compile two at once.
CompilePoolOptions double_options(int workers) {
  CompilePoolOptions options = pool_options(workers);
  options.threads_per_worker = 2;
  return options;
}

// A path that does not exist, removed at the end.
class Marker {
 public:
  explicit Marker(const std::string& name) : path_(testing::TempDir() + "tunebook-" + std::to_string(::getpid()) + "-" + name) {
    ::unlink(path_.c_str());
  }
  ~Marker() { ::unlink(path_.c_str()); }
  Marker(const Marker&) = delete;
  Marker& operator=(const Marker&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Harness {
  explicit Harness(CompilePoolOptions options) : pool(loop, std::move(options)) {}
  void submit(std::int64_t id, const std::string& how, int priority = 0) {
    CompileRequest request;
    request.id = id;
    request.source.text = "artifact " + std::to_string(id);
    request.arch = how;
    pool.submit(std::move(request), priority, [this](CompileResult result) {
      order.push_back(result.reply.id);
      results[result.reply.id] = std::move(result);
    });
  }
  bool wait(std::size_t count) {
    return loop.run_until([this, count] { return order.size() >= count; }, kPatience) && order.size() == count;
  }

  EventLoop loop;
  CompilePool pool;
  std::vector<std::int64_t> order;
  std::map<std::int64_t, CompileResult> results;
};

using CompilePoolTest = ProcessTest;

TEST_F(CompilePoolTest, AnswersEveryJobOnce) {
  Harness harness(pool_options(3));
  EXPECT_EQ(harness.pool.statistics().workers, 0);  // none before the first use
  for (std::int64_t id = 100; id < 150; ++id) harness.submit(id, id % 5 == 0 ? "cached" : "ok");
  ASSERT_TRUE(harness.wait(50));
  for (std::int64_t id = 100; id < 150; ++id) {
    EXPECT_EQ(harness.results[id].reply.artifact, "artifact " + std::to_string(id));
    EXPECT_EQ(harness.results[id].environment_error, "");
  }
  const CompileStatistics statistics = harness.pool.statistics();
  EXPECT_EQ(statistics.finished, 50);
  EXPECT_EQ(statistics.cached, 10);
  EXPECT_EQ(statistics.busy, 0);
  EXPECT_EQ(statistics.workers, 3);
  EXPECT_DOUBLE_EQ(statistics.compile_seconds, 25);
  EXPECT_EQ(harness.pool.hello().value().toolchain, "fake 1.0");
}

TEST_F(CompilePoolTest, HigherPriorityFirstThenInOrder) {
  Harness harness(pool_options(1));
  harness.submit(1, "ok");
  harness.submit(2, "ok");
  harness.submit(3, "ok", 5);
  harness.submit(4, "ok", -1);
  harness.submit(5, "ok", 5);
  ASSERT_TRUE(harness.wait(5));
  EXPECT_EQ(harness.order, (std::vector<std::int64_t>{3, 5, 1, 2, 4}));
}

TEST_F(CompilePoolTest, FaultsCostOneJobEach) {
  CompilePoolOptions options = pool_options(2);
  options.timeout_s = 1;
  Harness harness(options);
  const std::vector<std::string> faults = {"hang", "kill", "segv", "exit", "not MessagePack", "stop"};
  for (std::size_t i = 0; i < faults.size(); ++i) {
    harness.submit(static_cast<std::int64_t>(i), faults[i]);
    harness.submit(static_cast<std::int64_t>(i) + 100, "ok");
  }
  ASSERT_TRUE(harness.wait(2 * faults.size()));
  for (std::size_t i = 0; i < faults.size(); ++i) {
    EXPECT_EQ(harness.results[static_cast<std::int64_t>(i) + 100].reply.outcome, Outcome::ok);
  }
  EXPECT_EQ(harness.results[0].reply.outcome, Outcome::compile_timeout);
  EXPECT_EQ(harness.results[0].reply.message, "the compiler did not finish within 1 s");
  EXPECT_EQ(harness.results[1].reply.outcome, Outcome::compile_error);
  EXPECT_EQ(harness.results[1].reply.message, "the compiler was killed by signal 9, from outside or for want of memory");
  EXPECT_EQ(harness.results[2].reply.outcome, Outcome::compile_error);
  EXPECT_TRUE(harness.results[2].reply.message.starts_with("the compiler crashed (signal 11)"));
  EXPECT_TRUE(harness.results[3].reply.message.starts_with("the compiler ended with exit code 7")) << harness.results[3].reply.message;
  EXPECT_TRUE(harness.results[3].reply.message.ends_with(":\ncannot go on")) << harness.results[3].reply.message;
  EXPECT_EQ(harness.results[4].reply.outcome, Outcome::compile_error);
  EXPECT_EQ(harness.results[5].reply.outcome, Outcome::worker_lost);
  EXPECT_EQ(harness.results[5].reply.message, "the compiler was stopped by a signal from outside and did not go on");
  EXPECT_EQ(harness.pool.statistics().workers_lost, 6);
  EXPECT_EQ(harness.pool.statistics().timed_out, 1);
  EXPECT_EQ(harness.pool.statistics().workers, 2);
}

TEST_F(CompilePoolTest, JobsFailWhenNoWorkerCanStart) {
  CompilePoolOptions missing = pool_options(2);
  missing.worker.program = "/nonexistent/worker";
  CompilePoolOptions useless = pool_options(2, "no gpu");
  CompilePoolOptions dying = pool_options(2, "exit");
  const std::vector<std::pair<CompilePoolOptions, std::string>> cases = {
      {missing, "/nonexistent/worker"}, {useless, "there is no such device"}, {dying, "cannot go on"}};
  for (const auto& [options, expected] : cases) {
    SCOPED_TRACE(expected);
    Harness harness(options);
    harness.submit(1, "ok");
    harness.submit(2, "ok");
    ASSERT_TRUE(harness.wait(2));
    EXPECT_NE(harness.results[1].environment_error.find(expected), std::string::npos)
        << harness.results[1].environment_error;
    harness.submit(3, "ok");  // also later ones
    ASSERT_TRUE(harness.wait(3));
    EXPECT_NE(harness.results[3].environment_error, "");
  }
}

TEST_F(CompilePoolTest, StoppedCompilesStandStillAndGoOn) {
  CompilePoolOptions options = pool_options(2);
  options.timeout_s = 1;
  Harness harness(options);
  for (std::int64_t id = 1; id <= 4; ++id) harness.submit(id, "sleep 50");
  ASSERT_TRUE(harness.loop.run_until([&] { return harness.pool.statistics().busy == 2; }, kPatience));
  harness.pool.stop_running();
  harness.loop.run_until([] { return false; }, 1.3);  // longer than the deadline
  EXPECT_TRUE(harness.order.empty());
  harness.pool.continue_running();
  ASSERT_TRUE(harness.wait(4));
  for (std::int64_t id = 1; id <= 4; ++id) EXPECT_EQ(harness.results[id].reply.outcome, Outcome::ok);
}

TEST_F(CompilePoolTest, AWorkerCompilesTwoAtOnce) {
  Harness harness(double_options(1));
  EXPECT_EQ(harness.pool.capacity(), 2);
  harness.submit(1, "after another");
  harness.submit(2, "ok");
  ASSERT_TRUE(harness.wait(2));
  // The first needs the second to end at all; their answers may overtake each other on the way.
  for (std::int64_t id = 100; id < 140; ++id) harness.submit(id, id % 4 == 0 ? "sleep 2" : "ok");
  ASSERT_TRUE(harness.wait(42));
  for (std::int64_t id = 100; id < 140; ++id) {
    EXPECT_EQ(harness.results[id].reply.artifact, "artifact " + std::to_string(id));
  }
  EXPECT_EQ(harness.pool.statistics().finished, 42);
  EXPECT_EQ(harness.pool.statistics().workers_lost, 0);
}

TEST_F(CompilePoolTest, AutomaticThreadsFillTheCoresAsFarAsAllowed) {
  const int at_once = default_compile_workers(read_host_resources());
  EventLoop loop;
  CompilePoolOptions options = pool_options(1);
  EXPECT_EQ(CompilePool(loop, options).capacity(), 1);  // the cpu device's
  options.max_threads_per_worker = 2;
  EXPECT_EQ(CompilePool(loop, options).capacity(), at_once >= 2 ? 2 : 1);
  options.workers = 2 * at_once;
  EXPECT_EQ(CompilePool(loop, options).capacity(), 2 * at_once);
  EXPECT_EQ(max_compile_threads("cuda"), 2);
  EXPECT_EQ(max_compile_threads("cpu"), 1);
}

TEST_F(CompilePoolTest, TheLeastLoadedWorkerGetsTheJob) {
  Harness harness(double_options(2));
  std::size_t count = 0;
  for (int busy = 0; busy < 2 && count < 60;) {  // until both are ready
    for (int i = 0; i < 3; ++i) harness.submit(static_cast<std::int64_t>(++count), "sleep 200");
    ASSERT_TRUE(harness.loop.run_until(
        [&] {
          busy = std::max(busy, harness.pool.statistics().busy);
          return harness.order.size() == count;
        },
        kPatience));
  }
  harness.submit(101, "ok");
  harness.submit(102, "ok");
  ASSERT_TRUE(harness.loop.run_until([&] { return harness.order.size() == count + 2; }, kPatience));
  EXPECT_NE(harness.results[101].reply.options, harness.results[102].reply.options);
}

TEST_F(CompilePoolTest, ATimeoutIsThatOfOneJobAndTheOtherIsCompiledAgain) {
  const Marker marker("timeout");
  CompilePoolOptions options = double_options(1);
  options.timeout_s = 1;
  Harness harness(options);
  harness.submit(1, "hang");
  harness.submit(2, "once " + marker.path());
  ASSERT_TRUE(harness.wait(2));
  EXPECT_EQ(harness.results[1].reply.outcome, Outcome::compile_timeout);
  EXPECT_EQ(harness.results[2].reply.outcome, Outcome::ok);
  const CompileStatistics statistics = harness.pool.statistics();
  EXPECT_EQ(statistics.finished, 2);
  EXPECT_EQ(statistics.timed_out, 1);
  EXPECT_EQ(statistics.workers_lost, 1);
  EXPECT_EQ(statistics.compiling, 0);
  EXPECT_DOUBLE_EQ(statistics.compile_seconds, 1.5);
}

TEST_F(CompilePoolTest, AfterACrashOfTwoEachRunsAloneToFindTheCulprit) {
  const std::vector<std::pair<std::string, std::string>> faults = {{"segv", "the compiler crashed (signal 11)"},
                                                                   {"kill", "the compiler was killed by signal 9, from outside or for want of memory"},
                                                                   {"exit", "the compiler ended with exit code 7"}};
  for (const auto& [fault, message] : faults) {
    SCOPED_TRACE(fault);
    const Marker marker("crash");
    Harness harness(double_options(1));
    harness.submit(1, "after " + marker.path() + " " + fault);
    harness.submit(2, "once " + marker.path());
    for (std::int64_t id = 3; id <= 8; ++id) harness.submit(id, "ok");
    ASSERT_TRUE(harness.wait(8));
    EXPECT_EQ(harness.results[1].reply.outcome, Outcome::compile_error);
    EXPECT_TRUE(harness.results[1].reply.message.starts_with(message)) << harness.results[1].reply.message;
    for (std::int64_t id = 2; id <= 8; ++id) EXPECT_EQ(harness.results[id].reply.outcome, Outcome::ok) << id;
    EXPECT_EQ(harness.order.front(), 1);
    EXPECT_EQ(harness.pool.statistics().finished, 8);
    EXPECT_EQ(harness.pool.statistics().workers_lost, 2);
    EXPECT_EQ(harness.pool.statistics().workers, 1);
  }
}

TEST_F(CompilePoolTest, JobsThatRunAloneGetTheirTurnInABusyPool) {
  Harness harness(double_options(2));
  for (std::int64_t id = 1; id <= 40; ++id) harness.submit(id, id <= 6 ? "segv" : "sleep 5", id > 20 ? 1 : 0);
  ASSERT_TRUE(harness.wait(40));
  for (std::int64_t id = 1; id <= 40; ++id) {
    EXPECT_EQ(harness.results[id].reply.outcome, id <= 6 ? Outcome::compile_error : Outcome::ok) << id;
  }
  EXPECT_EQ(harness.pool.statistics().finished, 40);
}

TEST_F(CompilePoolTest, CancelledJobsAreNotAnswered) {
  Harness harness(pool_options(1));
  harness.submit(1, "ok");
  ASSERT_TRUE(harness.wait(1));
  harness.submit(2, "ok");
  harness.submit(3, "ok");
  EXPECT_EQ(harness.pool.cancel_queued(), 2u);
  harness.loop.run_until([] { return false; }, 0.05);
  EXPECT_EQ(harness.order, (std::vector<std::int64_t>{1}));
}

TEST_F(CompilePoolTest, JobsOfAHigherPriorityAreNotCancelledWithTheOthers) {
  Harness harness(pool_options(1));
  harness.submit(1, "ok", 0);
  harness.submit(2, "ok", 1);
  harness.submit(3, "ok", 0);
  EXPECT_EQ(harness.pool.cancel_queued(1), 2u);
  ASSERT_TRUE(harness.wait(1));
  EXPECT_EQ(harness.order, (std::vector<std::int64_t>{2}));
}

// 0 is what a pool sets itself; the compiler asks for twice the limit of the last one.
TEST_F(CompilePoolTest, ACompilerThatWantsTooMuchAddressSpaceIsRefusedAndSaysSo) {
#ifdef TUNEBOOK_SANITIZED
  GTEST_SKIP() << "a sanitizer reserves more address space than any limit";
#endif
  for (const std::string how : {"reserve", "reserve and abort"}) {
    CompilePoolOptions options = pool_options(1);
    options.worker.address_space_mib = 4096;
    Harness harness(options);
    harness.submit(1, how + " 1024");
    harness.submit(2, how + " 8192");
    harness.submit(3, "ok");
    ASSERT_TRUE(harness.wait(3));
    EXPECT_EQ(harness.results[1].reply.outcome, Outcome::ok) << harness.results[1].reply.message;
    EXPECT_EQ(harness.results[2].reply.outcome, Outcome::compile_error);
    EXPECT_NE(harness.results[2].reply.message.find("may use 4096 MiB of address space"), std::string::npos) << harness.results[2].reply.message;
    EXPECT_EQ(harness.results[3].reply.outcome, Outcome::ok);
  }
  const HostResources host = read_host_resources();
  Harness harness(pool_options(1));
  harness.submit(1, "reserve " + std::to_string(2 * compile_address_space_mib(host, 1, 1)));
  ASSERT_TRUE(harness.wait(1));
  EXPECT_EQ(harness.results[1].reply.outcome, Outcome::compile_error);
}

TEST_F(CompilePoolTest, ACallbackMaySubmitTheNextJob) {
  EventLoop loop;
  CompilePool pool(loop, pool_options(2));
  int done = 0;
  CompilePool::Callback next = [&](CompileResult) {
    if (++done < 20) pool.submit(CompileRequest{}, 0, next);
  };
  pool.submit(CompileRequest{}, 0, next);
  EXPECT_TRUE(loop.run_until([&] { return done == 20; }, kPatience));
}

TEST_F(CompilePoolTest, DestroyedWhileBusyItLeavesNoChild) {
  for (const CompilePoolOptions& options : {pool_options(3), double_options(2)}) {
    Harness harness(options);
    for (std::int64_t id = 1; id <= 5; ++id) harness.submit(id, id == 1 ? "ok" : "hang");
    ASSERT_TRUE(harness.wait(1));
  }
}

// The coordinator dies as by kill -9, with workers idle, in a compile and not yet ready: all of them go, too.
TEST_F(CompilePoolTest, WorkersDieWithAKilledCoordinator) {
  int pids[2];
  ASSERT_EQ(::pipe(pids), 0);
  const pid_t coordinator = ::fork();
  if (coordinator == 0) {
    EventLoop loop;
    std::vector<std::unique_ptr<WorkerProcess>> workers;
    for (const std::string how : {"", "busy", "hang"}) {
      WorkerCallbacks callbacks;
      const std::size_t index = workers.size();
      callbacks.on_hello = [&workers, how, index](const Hello&) {
        CompileRequest request;
        request.arch = "hang";
        if (how == "busy") workers[index]->send(request);
      };
      workers.push_back(std::make_unique<WorkerProcess>(loop, fake_worker(WorkerRole::compiler, how), callbacks, kPatience));
    }
    loop.run_until([&] { return workers[0]->ready() && workers[1]->busy(); }, kPatience);
    for (const auto& worker : workers) {
      const int pid = worker->pid();
      if (::write(pids[1], &pid, sizeof pid) < 0) ::_exit(1);
    }
    loop.run();
    ::_exit(0);
  }
  std::vector<int> found(3, -1);
  for (int& pid : found) ASSERT_EQ(::read(pids[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  ::kill(coordinator, SIGKILL);
  EXPECT_TRUE(reap_orphan(coordinator));
  for (const int pid : found) EXPECT_TRUE(reap_orphan(pid)) << pid;
  ::close(pids[0]);
  ::close(pids[1]);
}

}  // namespace
}  // namespace tunebook
