#include "worker/group_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

namespace tunebook {
namespace {

void wake(int) {}

// The death of the parent wakes it, whether it was stopped or not. Says through `ready` when that is so: stopped before, it would never wake.
[[noreturn]] void watch(pid_t parent, int ready) {
  struct sigaction on_wake = {};
  on_wake.sa_handler = wake;
  ::sigaction(SIGCONT, &on_wake, nullptr);
  sigset_t cont;
  sigemptyset(&cont);
  sigaddset(&cont, SIGCONT);
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &cont, &before);  // between a look at the parent and the wait, none is lost
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  ::prctl(PR_SET_NAME, "tunebook-guard");
  [[maybe_unused]] const ssize_t written = ::write(ready, "r", 1);
  ::close_range(0, ~0U, 0);  // the worker's channel above all: its peer waits for the end of it
  while (::getppid() == parent) ::sigsuspend(&before);
  ::kill(0, SIGKILL);
  ::_exit(0);
}

}  // namespace

void guard_group() {
  if (::getpgrp() != ::getpid()) return;
  const pid_t parent = ::getpid();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t guard = ::fork();
  if (guard == 0) watch(parent, ends[1]);
  ::close(ends[1]);
  char said = 0;
  while (guard > 0 && ::read(ends[0], &said, 1) < 0 && errno == EINTR) {
  }
  ::close(ends[0]);
}

}  // namespace tunebook
