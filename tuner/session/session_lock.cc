#include "session/session_lock.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/error.h"
#include "session/byte_lock.h"

namespace tunebook {
namespace {

// 60 bits of the id: within the range of file offsets. Two sessions of one book that share a byte would only wait for each other.
constexpr std::size_t kPlaceDigits = 15;

}  // namespace

SessionLock::SessionLock(const std::filesystem::path& book, const std::string& session_id)
    : file_(book.string() + "-lock"), place_(std::stoll(session_id.substr(0, kPlaceDigits), nullptr, 16)) {
  fd_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) {
    throw EnvironmentError(fmt::format("book {}: the file {} beside it cannot be made: {}; it keeps two commands from running one session "
                                       "at once. Make room or give write permission, or give another path with --book",
                                       book.string(), file_.string(), std::strerror(errno)));
  }
}

SessionLock::~SessionLock() { ::close(fd_); }

std::optional<int> SessionLock::other_owner() {
  for (;;) {
    struct flock lock = lock_of_byte(place_, F_WRLCK);
    if (::fcntl(fd_, F_SETLK, &lock) == 0 || has_no_locks(errno)) return std::nullopt;
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      throw EnvironmentError(fmt::format("{} cannot be locked: {}", file_.string(), std::strerror(errno)));
    }
    lock = lock_of_byte(place_, F_WRLCK);
    if (::fcntl(fd_, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) return static_cast<int>(std::max<pid_t>(lock.l_pid, 0));
    // Released between the two questions.
  }
}

}  // namespace tunebook
