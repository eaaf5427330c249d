#include "cuda/disassembler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

extern "C" char** environ;

namespace tunebook {
namespace fs = std::filesystem;
namespace {

std::optional<fs::path> find_program(const std::string& name, std::vector<fs::path> folders) {
  if (const char* path = std::getenv("PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const std::size_t end = rest.find(':');
      if (end != 0) folders.emplace_back(rest.substr(0, end));
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
    }
  }
  for (const fs::path& folder : folders) {
    const fs::path candidate = folder / name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

// Standard output of a program that ends with 0.
std::optional<std::string> output_of(std::vector<std::string> arguments) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string output;
  if (error == 0) {
    char block[65536];
    for (;;) {
      const ssize_t count = ::read(ends[0], block, sizeof block);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      output.append(block, static_cast<std::size_t>(count));
    }
  }
  ::close(ends[0]);
  if (error != 0) return std::nullopt;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return output;
}

}  // namespace

std::optional<std::string> disassemble(const fs::path& cubin, const std::vector<fs::path>& folders) {
  if (const auto program = find_program("nvdisasm", folders)) {
    if (auto text = output_of({program->string(), "--print-code", cubin.string()})) return text;
  }
  if (const auto program = find_program("cuobjdump", folders)) return output_of({program->string(), "--dump-sass", cubin.string()});
  return std::nullopt;
}

}  // namespace tunebook
