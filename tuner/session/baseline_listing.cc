#include "session/baseline_listing.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "session/worker_process.h"

extern char** environ;

namespace tunebook {
namespace {

constexpr std::chrono::seconds kPatience{60};  // libraries of hundreds of megabytes from a cold disk

// All that comes out of `fd` until it is closed, or nobody writes for too long.
std::string read_all(int fd) {
  std::string text;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd entry{fd, POLLIN, 0};
    if (left <= 0 || (::poll(&entry, 1, static_cast<int>(left)) < 0 && errno != EINTR)) return text;
    if (entry.revents == 0) continue;
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(fd, bytes.data(), bytes.size());
    if (count <= 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

BaselineListing list_baselines() {
  const std::string program = worker_program("cuda");
  std::error_code error;
  if (!std::filesystem::exists(program, error)) return {false, {"this build has no CUDA worker"}};
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {false, {fmt::format("cannot create a pipe: {}", std::strerror(errno))}};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string name = program, option = "--list-baselines";
  std::array<char*, 3> argv = {name.data(), option.data(), nullptr};
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed != 0) {
    ::close(ends[0]);
    return {false, {fmt::format("cannot start {}: {}", program, std::strerror(failed))}};
  }
  BaselineListing listing;
  std::istringstream text(read_all(ends[0]));
  ::close(ends[0]);
  ::kill(pid, SIGKILL);  // it has said all, or hangs
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) listing.lines.push_back(line);
  }
  // The first of several lines is the module's file; a single one says why there is none.
  listing.module = listing.lines.size() > 1;
  if (listing.lines.empty()) listing.lines.push_back(fmt::format("{} gave no answer", program));
  return listing;
}

}  // namespace tunebook
