#include "worker/child_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/error.h"

namespace tunebook {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

// The caller's environment with `additions` in place of equally named variables.
std::vector<std::string> merged_environment(const std::vector<std::string>& additions) {
  std::vector<std::string> merged = additions;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& addition : additions) replaced = replaced || std::string_view(addition).starts_with(name);
    if (!replaced) merged.emplace_back(text);
  }
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string read_output(int fd, std::size_t max_output) {
  std::string output;
  char buffer[16384];
  for (;;) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return output;
    if (output.size() < max_output) output.append(buffer, static_cast<std::size_t>(count));
  }
}

// In the child: nothing here may allocate. It dies with the thread that started it: a compiler that is stopped (the coordinator stops
// it while a kernel is timed) when the worker is killed would stay stopped for ever. posix_spawn cannot ask for that.
// The number of an error goes to `status`, which the exec closes if there is none.
[[noreturn]] void become(const std::vector<char*>& argv, const std::vector<char*>& envp, int output, int status, pid_t parent) {
  const int input = ::open("/dev/null", O_RDONLY);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent && input >= 0 && ::dup2(input, STDIN_FILENO) >= 0 &&
      ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(output, STDERR_FILENO) >= 0) {
    // No other descriptor, above all not the worker's channel: its peer must see the worker's end even if a compiler outlives it.
    if (status > STDERR_FILENO + 1) ::close_range(STDERR_FILENO + 1, static_cast<unsigned>(status) - 1, 0);
    ::close_range(static_cast<unsigned>(status) + 1, ~0U, 0);
    ::execvpe(argv[0], argv.data(), envp.data());
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(status, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                      std::size_t max_output) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw EnvironmentError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);

  std::vector<std::string> argument_texts = arguments;
  std::vector<std::string> environment_texts = merged_environment(environment);
  const std::vector<char*> argv = pointers(argument_texts);
  const std::vector<char*> envp = pointers(environment_texts);
  int status_ends[2];
  if (::pipe2(status_ends, O_CLOEXEC) != 0) throw EnvironmentError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  FileDescriptor status_reader(status_ends[0]);
  FileDescriptor status_writer(status_ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw EnvironmentError(fmt::format("cannot start {}: {}", arguments.at(0), std::strerror(errno)));
  if (child == 0) become(argv, envp, writer.get(), status_writer.get(), parent);
  status_writer.close();
  int error = 0;
  while (::read(status_reader.get(), &error, sizeof error) < 0 && errno == EINTR) {
  }
  if (error != 0) {
    ::waitpid(child, nullptr, 0);
    throw EnvironmentError(fmt::format("cannot start {}: {}", arguments.at(0), std::strerror(error)));
  }
  writer.close();

  ChildResult result;
  result.output = read_output(reader.get(), max_output);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) {
    result.exit_code = WEXITSTATUS(status);
  } else {
    result.signal = WTERMSIG(status);
  }
  return result;
}

}  // namespace tunebook
