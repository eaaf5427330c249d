#include "worker/worker_main.h"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/error.h"
#include "worker/channel.h"

namespace tunebook {
namespace {

// Says what it knows about its process, which is what these tests ask for.
class FakeCompiler : public CompilerBackend {
 public:
  Hello hello() override {
    Hello hello;
    std::string score;
    std::ifstream("/proc/self/oom_score_adj") >> score;
    int death_signal = 0;
    ::prctl(PR_GET_PDEATHSIG, &death_signal);
    rlimit address_space{};
    ::getrlimit(RLIMIT_AS, &address_space);
    hello.environment = {{"oom_score_adj", score},
                         {"death_signal", death_signal},
                         {"address_space_mib", address_space.rlim_cur >> 20}};
    return hello;
  }
  CompileReply compile(const CompileRequest& request) override {
    if (request.arch == "throw") throw EnvironmentError("the cache is full");
    if (request.arch == "hang") {
      for (;;) ::pause();
    }
    static std::counting_semaphore<> ended(0);
    if (request.arch == "after another") ended.acquire();
    ended.release();
    std::printf("stray output\n");
    std::fflush(stdout);
    CompileReply reply;
    reply.artifact = "artifact of " + request.source.text;
    return reply;
  }
};

class FakeRunner : public RunnerBackend {
 public:
  explicit FakeRunner(std::string device) : device_(std::move(device)) {}
  Hello hello() override {
    Hello hello;
    hello.role = WorkerRole::runner;
    hello.native_arch = device_;
    if (device_ == "missing") hello.error = "there is no such device";
    return hello;
  }
  void warm_up() override {
    if (!device_.empty()) std::fprintf(stderr, "warm\n");
    if (device_ == "in use") throw EnvironmentError("another process uses it");
  }
  SetupReply setup(const SetupRequest&, const StageCallback& stage) override {
    stage("upload");
    return {};
  }
  RunReply run(const RunRequest& request, const StageCallback&) override {
    if (request.verify.empty()) {
      for (;;) ::pause();  // a kernel that never ends
    }
    return {};
  }
  InterleaveReply interleave(const InterleaveRequest&, const StageCallback&) override { return {}; }
  CalibrateReply calibrate(const CalibrateRequest&, const StageCallback&) override { return {}; }

 private:
  std::string device_;
};

BackendFactory fake_factory() {
  return {[] { return std::make_unique<FakeCompiler>(); },
          [](const std::string& device) { return std::make_unique<FakeRunner>(device); }};
}

// worker_main in a child process, with our end of its channel and all that it prints to stderr.
class Child {
 public:
  explicit Child(std::vector<std::string> arguments, bool with_channel = true) {
    int channel[2];
    int errors[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel), 0);
    EXPECT_EQ(::pipe2(errors, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(channel[0]);
      ::dup2(errors[1], STDERR_FILENO);
      arguments.insert(arguments.begin(), "fake-worker");
      if (with_channel) arguments.insert(arguments.end(), {"--fd", std::to_string(channel[1])});
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      const int code = worker_main(static_cast<int>(arguments.size()), argv.data(), fake_factory());
      std::fflush(nullptr);
      ::_exit(code);
    }
    ::close(channel[1]);
    ::close(errors[1]);
    channel_ = channel[0];
    errors_ = errors[0];
  }
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    close_channel();
    ::close(errors_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(const Request& request) { write_message(channel_, encode(request)); }
  void send_raw(const nlohmann::json& message) { write_message(channel_, message); }
  Reply receive() { return decode_reply(read_message(channel_, reader_).value()); }
  void close_channel() {
    if (channel_ >= 0) ::close(channel_);
    channel_ = -1;
  }
  void interrupt() const { ::kill(pid_, SIGINT); }
  // The exit code; -signal if it was killed.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string error_text() {
    std::string text;
    char bytes[4096];
    for (ssize_t count = 0; (count = ::read(errors_, bytes, sizeof bytes)) > 0;) {
      text.append(bytes, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  pid_t pid_ = -1;
  int channel_ = -1;
  int errors_ = -1;
  FrameReader reader_;
};

CompileRequest compile_request(std::int64_t id, std::string arch = "sm_90") {
  CompileRequest request;
  request.id = id;
  request.source.text = "source";
  request.arch = std::move(arch);
  return request;
}

TEST(WorkerMain, ServesCompilesUntilTheChannelCloses) {
  Child child({"--role", "compiler"});
  const auto hello = std::get<Hello>(child.receive());
  EXPECT_EQ(hello.environment["oom_score_adj"], "1000");
  EXPECT_EQ(hello.environment["death_signal"], SIGKILL);
  for (std::int64_t id = 1; id <= 3; ++id) {
    child.send(compile_request(id));
    const auto reply = std::get<CompileReply>(child.receive());
    EXPECT_EQ(reply.id, id);
    EXPECT_EQ(reply.artifact, "artifact of source");
  }
  child.close_channel();
  EXPECT_EQ(child.wait(), 0);
  EXPECT_NE(child.error_text().find("stray output"), std::string::npos);
}

TEST(WorkerMain, RunnerGetsItsDeviceAndReportsStages) {
  Child child({"--role", "runner", "--device", "cuda:3"});
  EXPECT_EQ(std::get<Hello>(child.receive()).native_arch, "cuda:3");
  child.send(SetupRequest{11, {}});
  const auto stage = std::get<Stage>(child.receive());
  EXPECT_EQ(stage.id, 11);
  EXPECT_EQ(stage.what, "upload");
  EXPECT_EQ(std::get<SetupReply>(child.receive()).id, 11);
  child.send(InterleaveRequest{12, {}, 1, 1, CacheMode::cold, 0});
  EXPECT_EQ(std::get<InterleaveReply>(child.receive()).id, 12);
  child.interrupt();  // ignored: the coordinator decides
  RunRequest run;
  run.id = 13;
  run.verify.resize(1);
  child.send(run);
  EXPECT_EQ(std::get<RunReply>(child.receive()).id, 13);
  child.close_channel();
  EXPECT_EQ(child.wait(), 0);
}

TEST(WorkerMain, AnExceptionEndsItWithItsMessage) {
  Child child({"--role", "compiler"});
  child.receive();
  child.send(compile_request(1, "throw"));
  EXPECT_EQ(child.wait(), 1);
  EXPECT_NE(child.error_text().find("the cache is full"), std::string::npos);
}

TEST(WorkerMain, TwoThreadsAnswerInAnyOrder) {
  Child child({"--role", "compiler", "--threads", "2"});
  child.receive();
  child.send(compile_request(1, "after another"));
  child.send(compile_request(2));
  // The second ends first; the first needs that to end at all. Their answers may overtake each other on the way.
  const std::set<std::int64_t> both = {std::get<CompileReply>(child.receive()).id, std::get<CompileReply>(child.receive()).id};
  EXPECT_EQ(both, (std::set<std::int64_t>{1, 2}));
  for (std::int64_t id = 100; id < 200; ++id) child.send(compile_request(id));
  std::set<std::int64_t> answered;
  for (int i = 0; i < 100; ++i) answered.insert(std::get<CompileReply>(child.receive()).id);
  EXPECT_EQ(answered.size(), 100u);
  EXPECT_EQ(*answered.begin(), 100);
  EXPECT_EQ(*answered.rbegin(), 199);
  child.close_channel();
  EXPECT_EQ(child.wait(), 0);
}

TEST(WorkerMain, AnExceptionInOneThreadEndsItWhateverTheOtherDoes) {
  for (const std::string other : {"", "hang"}) {
    Child child({"--role", "compiler", "--threads", "2"});
    child.receive();
    if (!other.empty()) child.send(compile_request(1, other));
    child.send(compile_request(2, "throw"));
    EXPECT_EQ(child.wait(), 1);
    EXPECT_NE(child.error_text().find("the cache is full"), std::string::npos);
  }
}

TEST(WorkerMain, StuckThreadsEndWithTheChannel) {
  Child child({"--role", "compiler", "--threads", "2"});
  child.receive();
  for (std::int64_t id = 1; id <= 3; ++id) child.send(compile_request(id, "hang"));
  child.close_channel();
  // 1 from the watchdog; 0 if the channel was closed before a thread had taken up a request.
  const int code = child.wait();
  EXPECT_TRUE(code == 0 || code == 1) << code;
}

TEST(WorkerMain, ARunnerWarmsUpAfterItsHello) {
  Child usable({"--role", "runner", "--device", "cuda:0"});
  EXPECT_EQ(std::get<Hello>(usable.receive()).error, "");
  usable.close_channel();
  EXPECT_EQ(usable.wait(), 0);
  EXPECT_TRUE(usable.error_text().starts_with("warm\n"));

  Child missing({"--role", "runner", "--device", "missing"});
  EXPECT_NE(std::get<Hello>(missing.receive()).error, "");
  missing.close_channel();
  EXPECT_EQ(missing.wait(), 0);
  EXPECT_EQ(missing.error_text().find("warm"), std::string::npos);

  Child in_use({"--role", "runner", "--device", "in use"});
  EXPECT_EQ(std::get<Hello>(in_use.receive()).error, "");
  EXPECT_EQ(in_use.wait(), 1);
  EXPECT_TRUE(in_use.error_text().starts_with("warm\nanother process uses it\n"));
}

TEST(WorkerMain, AWrongRequestEndsIt) {
  Child compiler({"--role", "compiler"});
  compiler.receive();
  compiler.send(SetupRequest{1, {}});
  EXPECT_EQ(compiler.wait(), 1);

  Child two({"--role", "compiler", "--threads", "2"});
  two.receive();
  two.send(compile_request(1, "hang"));
  two.send(SetupRequest{2, {}});
  EXPECT_EQ(two.wait(), 1);
  EXPECT_NE(two.error_text().find("asked to run something"), std::string::npos);

  Child runner({"--role", "runner"});
  runner.receive();
  runner.send_raw({{"type", "run"}, {"id", 1}});
  EXPECT_EQ(runner.wait(), 1);
  EXPECT_NE(runner.error_text().find("run.verify is missing"), std::string::npos);
}

TEST(WorkerMain, AStuckWorkerIsEndedByItsWatchdog) {
  Child child({"--role", "runner"});
  child.receive();
  child.send(RunRequest{});
  child.close_channel();
  EXPECT_EQ(child.wait(), 1);
}

TEST(WorkerMain, AddressSpaceLimitIsSetOnRequest) {
#ifdef TUNEBOOK_SANITIZED
  GTEST_SKIP() << "sanitizers reserve address space, so workers built with them set no limit";
#endif
  Child child({"--role", "compiler", "--address-space-mib", "4096"});
  EXPECT_EQ(std::get<Hello>(child.receive()).environment["address_space_mib"], 4096);
  child.close_channel();
  EXPECT_EQ(child.wait(), 0);
}

TEST(WorkerMain, ByHandItSaysWhatItIsForAndRefuses) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"--role", "compiler", "--fd", "0"}, {"--role", "compiler", "--fd", "99"},
        {"--role", "cook", "--fd", "3"}, {"--fd", "x", "--role", "runner"}, {"--role", "compiler", "--threads", "0"}, {"--help"}}) {
    Child child(arguments, false);
    EXPECT_EQ(child.wait(), 2);
    EXPECT_NE(child.error_text().find("tunebook --help"), std::string::npos);
  }
}

}  // namespace
}  // namespace tunebook
