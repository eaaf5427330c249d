#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tunebook {

// The right to run a session: one process at a time has it, for as long as this object lives. The operating system takes it back
// from a process that dies, however it dies.
//
// It is an advisory lock (fcntl) on one byte of the empty file BOOK-lock beside the book, chosen by the session's id: sessions of
// one book do not hinder each other, and nothing is left to tidy up. The file stays; removing it while sessions run lets one of them
// run twice.
class SessionLock {
 public:
  // `session_id`: hexadecimal digits. Throws EnvironmentError if the file cannot be made.
  SessionLock(const std::filesystem::path& book, const std::string& session_id);
  ~SessionLock();
  SessionLock(const SessionLock&) = delete;
  SessionLock& operator=(const SessionLock&) = delete;

  // Takes the lock, or returns the process that has it (0: on another machine). On a file system without locks it is always ours.
  std::optional<int> other_owner();

 private:
  int fd_ = -1;
  std::filesystem::path file_;
  long long place_ = 0;
};

}  // namespace tunebook
