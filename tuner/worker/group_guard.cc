#include "worker/group_guard.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace tunebook {
namespace {

void wake(int) {}

// The death of the parent wakes it, whether it was stopped or not.
[[noreturn]] void watch(pid_t parent) {
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
  ::close_range(0, ~0U, 0);  // the worker's channel above all: its peer waits for the end of it
  while (::getppid() == parent) ::sigsuspend(&before);
  ::kill(0, SIGKILL);
  ::_exit(0);
}

}  // namespace

void guard_group() {
  if (::getpgrp() != ::getpid()) return;
  const pid_t parent = ::getpid();
  if (::fork() == 0) watch(parent);
}

}  // namespace tunebook
