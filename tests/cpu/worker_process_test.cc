// The worker program itself, over its channel.

#include <csignal>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel_fixture.h"
#include "worker/channel.h"

namespace tunebook::test {
namespace {

class WorkerProcess {
 public:
  explicit WorkerProcess(const char* role) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], 100);  // without close-on-exec
      ::execl(TUNEBOOK_BIN_DIR "/tunebook-cpu-worker", "tunebook-cpu-worker", "--role", role, "--device", "cpu", "--fd", "100", nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    fd_ = ends[0];
  }
  ~WorkerProcess() {
    ::close(fd_);
    if (pid_ > 0) wait();
  }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void send(const Request& request) { write_message(fd_, encode(request)); }
  // Nothing when the worker has closed the channel.
  std::optional<Reply> receive() {
    const std::optional<nlohmann::json> message = read_message(fd_, reader_);
    if (!message) return std::nullopt;
    return decode_reply(*message);
  }
  // Skips stages.
  template <class T>
  T receive_reply() {
    while (std::optional<Reply> reply = receive()) {
      if (T* found = std::get_if<T>(&*reply)) return *found;
    }
    ADD_FAILURE() << "the worker ended";
    return T{};
  }
  bool silent_for_ms(int ms) {
    pollfd poll_fd{fd_, POLLIN, 0};
    return ::poll(&poll_fd, 1, ms) == 0;
  }
  void kill() { ::kill(pid_, SIGKILL); }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_ = 0;
  int fd_ = -1;
  FrameReader reader_;
};

SetupRequest setup_of(const std::string& artifact, const std::string& symbol) {
  SetupRequest request;
  request.id = 2;
  ProblemSetup problem;
  problem.display = "none";
  problem.reference = {artifact, symbol, shape({4, 1, 1}, {32, 1, 1})};
  request.problems = {problem};
  return request;
}

TEST(WorkerProcess, CompilesRunsAndReportsAFault) {
  compiler();  // the cache folder is inherited
  WorkerProcess compile_worker("compiler");
  EXPECT_EQ(compile_worker.receive_reply<Hello>().error, "");
  compile_worker.send(compile_request("__global__ void k() { if (threadIdx.x == 3) __trap(); }", "k"));
  const CompileReply compiled = compile_worker.receive_reply<CompileReply>();
  ASSERT_EQ(compiled.outcome, Outcome::ok) << compiled.message;

  WorkerProcess runner("runner");
  const Hello hello = runner.receive_reply<Hello>();
  EXPECT_EQ(hello.error, "");
  ASSERT_TRUE(hello.device);
  runner.send(setup_of(compiled.artifact, compiled.symbol));
  const SetupReply failed = runner.receive_reply<SetupReply>();
  EXPECT_EQ(failed.outcome, Outcome::fault);
  EXPECT_NE(failed.message.find("__trap()"), std::string::npos) << failed.message;
}

TEST(WorkerProcess, AnEndlessKernelCanBeKilled) {
  compiler();
  const std::string artifact = compile("__global__ void endless() { volatile int x = 1; while (x) x = x + 2; }", "endless");
  WorkerProcess runner("runner");
  runner.receive_reply<Hello>();
  runner.send(setup_of(artifact, kCpuEntrySymbol));
  bool announced = false;
  while (!announced) {
    const std::optional<Reply> reply = runner.receive();
    ASSERT_TRUE(reply);
    const Stage* stage = std::get_if<Stage>(&*reply);
    ASSERT_NE(stage, nullptr);
    announced = stage->what == "reference none";
  }
  EXPECT_TRUE(runner.silent_for_ms(200));
  runner.kill();
  EXPECT_TRUE(WIFSIGNALED(runner.wait()));
}

}  // namespace
}  // namespace tunebook::test
