#include "session/compile_slots.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/error.h"
#include "session/byte_lock.h"

namespace tunebook {
namespace {

// Far above the cores of any machine.
constexpr int kMostSlots = 1 << 16;

}  // namespace

void CompileSlots::create(const std::filesystem::path& file, int slots) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const bool made = fd >= 0 && ::ftruncate(fd, slots) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!made) {
    throw EnvironmentError(fmt::format("{}: the file by which sessions share the compile processes cannot be made: {}; make room or give "
                                       "write permission",
                                       file.string(), std::strerror(error)));
  }
}

CompileSlots::CompileSlots(const std::filesystem::path& file) : file_(file), fd_(::open(file.c_str(), O_RDWR | O_CLOEXEC)) {
  struct stat status {};
  const bool known = fd_ >= 0 && ::fstat(fd_, &status) == 0;
  if (!known || status.st_size < 1 || status.st_size > kMostSlots) {
    const std::string reason = known ? fmt::format("it has {} bytes, one for each slot", status.st_size) : std::strerror(errno);
    if (fd_ >= 0) ::close(fd_);
    throw InputError(fmt::format("compile slots {}: {}; leave out $TUNEBOOK_COMPILE_SLOTS, or name the file that a sweep made", file.string(), reason));
  }
  slots_ = static_cast<int>(status.st_size);
  first_ = static_cast<int>(::getpid()) % slots_;
}

CompileSlots::~CompileSlots() { ::close(fd_); }

bool CompileSlots::try_take() {
  for (int i = 0; i < slots_; ++i) {
    const int place = (first_ + i) % slots_;
    if (held_.contains(place)) continue;
    struct flock lock = lock_of_byte(place, F_WRLCK);
    int result = 0;
    do {
      result = ::fcntl(fd_, F_OFD_SETLK, &lock);
    } while (result != 0 && errno == EINTR);
    if (result == 0 || has_no_locks(errno)) {
      held_.insert(place);
      return true;
    }
    if (errno != EAGAIN && errno != EACCES) {
      throw EnvironmentError(fmt::format("compile slots {}: {}", file_.string(), std::strerror(errno)));
    }
  }
  return false;
}

void CompileSlots::give_back() {
  if (held_.empty()) return;
  struct flock lock = lock_of_byte(*held_.begin(), F_UNLCK);
  ::fcntl(fd_, F_OFD_SETLK, &lock);
  held_.erase(held_.begin());
}

std::filesystem::path compile_slots_file() {
  const char* const file = std::getenv("TUNEBOOK_COMPILE_SLOTS");
  return file != nullptr ? file : "";
}

}  // namespace tunebook
