#include "sweep/atomic_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/error.h"

namespace tunebook {
namespace {

// 0, or the error.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

void write_atomically(const std::filesystem::path& file, const std::string& text) {
  const std::string temporary = fmt::format("{}.{}.tmp", file.string(), ::getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  int error = fd < 0 ? errno : write_all(fd, text);
  if (fd >= 0 && ::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), file.c_str()) != 0) error = errno;
  if (error == 0) return;
  if (fd >= 0) ::unlink(temporary.c_str());
  throw EnvironmentError(fmt::format("{} cannot be written: {}", file.string(), std::strerror(error)));
}

}  // namespace tunebook
