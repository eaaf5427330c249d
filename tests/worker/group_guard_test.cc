#include "worker/group_guard.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

using std::chrono::milliseconds;

// Starts the leader of a new group, guarded or not, with a child that is stopped; kills the leader. Returns the child's pid.
pid_t stopped_child_of_a_killed_leader(bool guarded) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t leader = ::fork();
  if (leader == 0) {
    ::setsid();
    if (guarded) guard_group();
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) ::pause();
    }
    ::kill(child, SIGSTOP);
    ::waitpid(child, nullptr, WUNTRACED);
    [[maybe_unused]] const ssize_t written = ::write(ends[1], &child, sizeof child);
    for (;;) ::pause();
  }
  pid_t child = 0;
  EXPECT_EQ(::read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ::close(ends[0]);
  ::close(ends[1]);
  ::kill(-leader, SIGSTOP);  // as the coordinator does while a kernel is timed
  std::this_thread::sleep_for(milliseconds(50));
  ::kill(leader, SIGKILL);
  EXPECT_EQ(::waitpid(leader, nullptr, 0), leader);
  return child;
}

bool gone_within(pid_t pid, milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    // Orphans come to this process, which asked for them.
    if (::waitpid(pid, nullptr, WNOHANG) == pid) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

class GroupGuard : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  void TearDown() override {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
};

TEST_F(GroupGuard, AStoppedGroupDiesWithItsLeader) {
  EXPECT_TRUE(gone_within(stopped_child_of_a_killed_leader(true), milliseconds(10000)));
}

TEST_F(GroupGuard, WithoutOneItStays) {
  const pid_t child = stopped_child_of_a_killed_leader(false);
  EXPECT_FALSE(gone_within(child, milliseconds(300)));
  ::kill(child, SIGKILL);
  EXPECT_TRUE(gone_within(child, milliseconds(10000)));
}

}  // namespace
}  // namespace tunebook
