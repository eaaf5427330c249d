// Slots that processes share: never more at once than there are, and those of a killed process are free again.
#include "session/compile_slots.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "core/error.h"

namespace tunebook {
namespace {

class CompileSlotsTest : public testing::Test {
 protected:
  CompileSlotsTest() : file_(std::filesystem::temp_directory_path() / ("tunebook_slots_" + std::to_string(getpid()) + "_" +
                                                                       testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~CompileSlotsTest() override { std::filesystem::remove(file_); }
  std::filesystem::path file_;
};

TEST_F(CompileSlotsTest, TwoUsersShareWhatThereIs) {
  CompileSlots::create(file_, 3);
  CompileSlots a(file_), b(file_);
  EXPECT_EQ(a.slots(), 3);
  EXPECT_TRUE(a.try_take());
  EXPECT_TRUE(a.try_take());
  EXPECT_TRUE(b.try_take());
  EXPECT_FALSE(a.try_take());
  EXPECT_FALSE(b.try_take());
  a.give_back();
  EXPECT_EQ(a.held(), 1);
  EXPECT_TRUE(b.try_take());
  EXPECT_FALSE(a.try_take());
}

TEST_F(CompileSlotsTest, AKilledProcessGivesItsSlotsBack) {
  CompileSlots::create(file_, 1);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    CompileSlots slots(file_);
    const char taken = slots.try_take() ? 'y' : 'n';
    if (write(ready[1], &taken, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char taken = 0;
  ASSERT_EQ(read(ready[0], &taken, 1), 1);
  EXPECT_EQ(taken, 'y');
  CompileSlots slots(file_);
  EXPECT_FALSE(slots.try_take());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(slots.try_take());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(CompileSlotsTest, WhatIsNoSlotFileIsRefused) {
  EXPECT_THROW(CompileSlots{file_}, InputError);
  std::ofstream{file_};
  EXPECT_THROW(CompileSlots{file_}, InputError);
  EXPECT_THROW(CompileSlots::create("/no/such/folder/slots", 2), EnvironmentError);
}

TEST_F(CompileSlotsTest, TheFileIsAdaptedToTheMachine) {
  CompileSlots::create(file_, 8);
  CompileSlots::create(file_, 2);
  EXPECT_EQ(CompileSlots(file_).slots(), 2);
}

}  // namespace
}  // namespace tunebook
