#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace tunebook {

// The lock of one byte of a file, for fcntl.
inline struct flock lock_of_byte(off_t place, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  return lock;
}

// Whether this error of fcntl says that the file system has no locks.
inline bool has_no_locks(int error) { return error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL; }

}  // namespace tunebook
