#include "session/clock_lock.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/error.h"

extern char** environ;

namespace tunebook {
namespace {

constexpr int kAnswerMs = 15000;  // NVML starts slowly on a machine with many GPUs
constexpr std::chrono::milliseconds kEndPoll{10};
constexpr int kEndPolls = 500;

// Both ends closed on exec; the child gets its end by dup2.
struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw EnvironmentError(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    for (const int fd : {read, write}) {
      if (fd >= 0) ::close(fd);
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
};

}  // namespace

ClockLock::ClockLock(const std::string& program, int mhz, const std::string& pci_bus_id, const std::string& uuid) {
  Pipe input, output;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A session of its own: Ctrl-C reaches this program, which then ends and so tells the holder.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::vector<std::string> words = {program, "--hold-clocks", std::to_string(mhz), pci_bus_id, uuid};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int error = ::posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    pid_ = -1;
    throw EnvironmentError(fmt::format("--lock-clocks: cannot start {}: {}", program, std::strerror(error)));
  }
  input_ = std::exchange(input.write, -1);
  ::close(std::exchange(output.write, -1));
  const std::string answer = first_line(output.read);
  if (answer == "locked") return;
  end();
  throw EnvironmentError(fmt::format("--lock-clocks {}: {}", mhz, answer.empty() ? "no answer from " + program : answer));
}

ClockLock::~ClockLock() { end(); }

std::string ClockLock::first_line(int fd) const {
  std::string text;
  std::array<char, 512> buffer{};
  while (text.find('\n') == text.npos) {
    pollfd entry{fd, POLLIN, 0};
    const int ready = ::poll(&entry, 1, kAnswerMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text.substr(0, text.find('\n'));
}

void ClockLock::end() {
  if (pid_ < 0) return;
  ::close(std::exchange(input_, -1));
  for (int i = 0; i < kEndPolls; ++i) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return;
    }
    std::this_thread::sleep_for(kEndPoll);
  }
  // It hangs in the driver. It is left to reset the clock when it can: killing it would leave the clock locked.
  fmt::print(stderr, "note: process {} has not reset the GPU's clock yet; if it does not end, run: nvidia-smi --reset-gpu-clocks\n", pid_);
  pid_ = -1;
}

}  // namespace tunebook
