// A worker that misbehaves on demand. How it starts is told by $FAKE_START, how it opens its device by
// $FAKE_WARM_UP, what a compile does by the request's arch, what a set-up does by the display names of its problems, what a run or
// interleaving does by the symbols of its launches.

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "worker/channel.h"
#include "worker/worker_main.h"

namespace {

using namespace tunebook;

constexpr int kFd = 3;

[[noreturn]] void hang() {
  for (;;) ::pause();
}

void write_raw(std::string_view bytes) {
  if (::write(kFd, bytes.data(), bytes.size()) < 0) std::perror("write");
}

// Forks a process that ignores the polite signals, as a compiler's children might.
void start_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGTERM, SIG_IGN);
    hang();
  }
  std::fprintf(stderr, "child %d\n", static_cast<int>(child));
}

// Counts the compiles of this process that ended.
std::counting_semaphore<> ended(0);

// Whether the file was there; afterwards it is.
bool existed(const std::string& path) {
  const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) ::close(fd);
  return fd < 0;
}

void wait_for_file(const std::string& path) {
  while (::access(path.c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

// Takes so many MiB of address space, as a compiler that grows without end would; exits or aborts when it is refused.
void reserve(const std::string& how) {
  const std::size_t mib = std::stoul(how.substr(how.rfind(' ') + 1));
  void* const taken = ::mmap(nullptr, mib << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (taken != MAP_FAILED) return;
  if (how.starts_with("reserve and abort")) std::abort();
  std::fprintf(stderr, "out of memory\n");
  std::_Exit(1);
}

void misbehave(const std::string& how) {
  // "first FILE HOW" misbehaves unless FILE exists, which it makes.
  if (how.starts_with("first ")) {
    const std::size_t space = how.find(' ', 6);
    if (!existed(how.substr(6, space - 6))) misbehave(how.substr(space + 1));
    return;
  }
  if (how.starts_with("reserve")) reserve(how);
  // "once FILE" hangs unless FILE exists, which it makes; "after FILE HOW" misbehaves as soon as FILE exists.
  if (how.starts_with("once ") && !existed(how.substr(5))) hang();
  if (how == "after another") {
    ended.acquire();
  } else if (how.starts_with("after ")) {
    const std::size_t space = how.find(' ', 6);
    wait_for_file(how.substr(6, space - 6));
    misbehave(how.substr(space + 1));
  }
  if (how == "hang") hang();
  if (how == "hang with child") {
    start_child();
    hang();
  }
  if (how == "crash with child") {
    start_child();
    ::raise(SIGSEGV);
  }
  if (how == "exit") {
    std::fprintf(stderr, "cannot go on\n");
    std::_Exit(7);
  }
  if (how == "abort") {
    std::signal(SIGABRT, SIG_DFL);
    ::raise(SIGABRT);
  }
  if (how == "segv") {
    std::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
  }
  if (how == "kill") ::raise(SIGKILL);
  if (how == "stop") ::raise(SIGSTOP);
  if (how == "not MessagePack") write_raw(std::string_view("\x02\0\0\0\xc1\xc1", 6));
  if (how == "too long") write_raw("\xff\xff\xff\xff");
  if (how == "wrong id") write_message(kFd, encode(Reply{CompileReply{}}));
  if (how == "wrong type") write_message(kFd, encode(Reply{InterleaveReply{}}));  // never asked for
  if (how == "unknown type") write_message(kFd, nlohmann::json{{"type", "dance"}});
  if (how == "second hello") write_message(kFd, encode(Reply{Hello{}}));
  if (how == "cut short") {
    write_raw(std::string_view("\x40\0\0\0\x81", 5));
    std::_Exit(0);
  }
  if (how == "no map") write_message(kFd, nlohmann::json::array({1, 2}));
  if (how == "wrong field") write_message(kFd, nlohmann::json{{"type", "stage"}, {"id", "seven"}, {"what", 3}});
  if (how == "unknown id") write_message(kFd, encode(Reply{Stage{4711, "elsewhere"}}));
  if (how == "huge length inside") write_raw(std::string_view("\x05\0\0\0\xdd\xff\xff\xff\xff", 9));
  if (how == "close") {
    ::shutdown(kFd, SHUT_WR);
    hang();
  }
  if (how == "endless output") {
    const std::string line(1023, 'x');
    for (;;) std::fprintf(stderr, "%s\n", line.c_str());
  }
  if (how.starts_with("sleep ")) std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(how.substr(6))));
}

void report_stages(std::int64_t id) {
  for (int i = 0; i < 8; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    write_message(kFd, encode(Reply{Stage{id, "still there"}}));
  }
}

Hello start(WorkerRole role) {
  const char* how = std::getenv("FAKE_START");
  Hello hello;
  hello.role = role;
  hello.toolchain = "fake 1.0";
  hello.environment = {{"stdin", static_cast<int>(::getchar())}};
  if (how == nullptr) return hello;
  if (how == std::string_view("no gpu")) hello.error = "there is no such device";
  if (how == std::string_view("other role")) {
    hello.role = role == WorkerRole::runner ? WorkerRole::compiler : WorkerRole::runner;
  }
  if (how == std::string_view("other version")) ++hello.protocol;
  misbehave(how);
  return hello;
}

class FakeCompiler : public CompilerBackend {
 public:
  Hello hello() override { return start(WorkerRole::compiler); }
  CompileReply compile(const CompileRequest& request) override {
    if (request.arch == "stages") report_stages(request.id);
    misbehave(request.arch);
    ended.release();
    CompileReply reply;
    reply.artifact = request.source.text;
    reply.seconds = 0.5;
    reply.cached = request.arch == "cached";
    reply.options = std::to_string(::getpid());
    return reply;
  }
};

// What a launch is told to do; a baseline by the name of its operation.
const std::string& symbol(const ProblemLaunch& launch) { return launch.baseline ? launch.baseline->operation : launch.launches.front().symbol; }

// A baseline takes 2.0; "baseline STATE" ends so, "first FILE baseline STATE" only where FILE is not there yet; "choosing" says which
// algorithms it was asked for.
BaselineReport report_baseline(const std::string& how, const std::vector<std::string>& only) {
  BaselineReport report{BaselineState::ok, "fake library 1.2", "its algorithm"};
  if (how == "choosing") {
    report.message = only.empty() ? "all" : fmt::format("{}", fmt::join(only, " or "));
    report.fast = {"this", "that"};
    return report;
  }
  if (how.starts_with("first ")) {
    const std::size_t space = how.find(' ', 6);
    return existed(how.substr(6, space - 6)) ? report : report_baseline(how.substr(space + 1), only);
  }
  if (!how.starts_with("baseline ")) return report;
  report.state = parse_baseline_state(how.substr(9)).value();
  report.message = "as told";
  return report;
}

class FakeRunner : public RunnerBackend {
 public:
  Hello hello() override {
    Hello hello = start(WorkerRole::runner);
    hello.device.emplace();
    hello.device->kind = "cuda";
    hello.device->name = "fake GPU";
    hello.native_arch = "sm_90";
    return hello;
  }
  void warm_up() override {
    if (const char* how = std::getenv("FAKE_WARM_UP"); how != nullptr) misbehave(how);
  }
  SetupReply setup(const SetupRequest& request, const StageCallback& stage) override {
    for (const ProblemSetup& problem : request.problems) {
      stage(problem.display);
      misbehave(problem.display);
    }
    return {};
  }
  // Misbehaves as the symbols of what it verifies and times say.
  RunReply run(const RunRequest& request, const StageCallback& stage) override {
    for (const ProblemLaunch& launch : request.verify) {
      stage("verify");
      misbehave(symbol(launch));
    }
    if (request.time) {
      stage("time");
      misbehave(symbol(*request.time));
    }
    RunReply reply;
    reply.message = std::to_string(::getpid());
    return reply;
  }
  InterleaveReply interleave(const InterleaveRequest& request, const StageCallback& stage) override {
    InterleaveReply reply;
    for (const ProblemLaunch& launch : request.candidates) {
      stage("time");
      if (launch.baseline) {
        if (symbol(launch).find("baseline ") == std::string::npos) misbehave(symbol(launch));
        reply.baseline = report_baseline(symbol(launch), launch.baseline->only);
        reply.timings.emplace_back();
        if (reply.baseline->state == BaselineState::ok) reply.timings.back().samples_us = {2.0, 2.0, 2.0};
        continue;
      }
      misbehave(symbol(launch));
      reply.timings.emplace_back().samples_us = {1.0, 1.0, 1.0};
    }
    return reply;
  }
  CalibrateReply calibrate(const CalibrateRequest&, const StageCallback&) override { return {}; }
};

}  // namespace

int main(int argc, char** argv) {
  BackendFactory factory;
  factory.compiler = [] { return std::make_unique<FakeCompiler>(); };
  factory.runner = [](const std::string&) { return std::make_unique<FakeRunner>(); };
  return worker_main(argc, argv, factory);
}
