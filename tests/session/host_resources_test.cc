#include "session/host_resources.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// A tree with the files of /proc and /sys that are read.
class HostResourcesTest : public testing::Test {
 protected:
  HostResourcesTest() : root_(fs::temp_directory_path() / ("tunebook_host_" + std::to_string(::getpid()))) {}
  ~HostResourcesTest() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  fs::path root_;
};

TEST_F(HostResourcesTest, ThisMachineHasSome) {
  const HostResources resources = read_host_resources();
  EXPECT_GE(resources.cores, 1);
  EXPECT_GT(resources.available_memory_bytes, 0);
}

TEST_F(HostResourcesTest, MemoryOfTheMachine) {
  write("proc/meminfo", "MemTotal:  33554432 kB\nMemFree: 1 kB\nMemAvailable:  8388608 kB\n");
  EXPECT_EQ(read_host_resources(root_).available_memory_bytes, 8 * kGiB);
}

TEST_F(HostResourcesTest, TheTightestGroupOnOurPathLimits) {
  write("proc/meminfo", "MemAvailable:  8388608 kB\n");
  write("proc/self/cgroup", "0::/slice/job\n");
  write("sys/fs/cgroup/slice/memory.max", std::to_string(4 * kGiB));
  write("sys/fs/cgroup/slice/memory.current", std::to_string(3 * kGiB));
  write("sys/fs/cgroup/slice/memory.stat", "anon 5\ninactive_file " + std::to_string(kGiB) + "\n");
  write("sys/fs/cgroup/slice/job/memory.max", "max\n");
  write("sys/fs/cgroup/slice/job/memory.current", "17");
  write("sys/fs/cgroup/slice/job/cpu.max", "100000 100000\n");
  const HostResources resources = read_host_resources(root_);
  EXPECT_EQ(resources.available_memory_bytes, 2 * kGiB);
  EXPECT_EQ(resources.cores, 1);
}

TEST_F(HostResourcesTest, VersionOneGroupsToo) {
  write("proc/meminfo", "MemAvailable:  8388608 kB\n");
  write("proc/self/cgroup", "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(5 * kGiB));  // the container's own folder is the mount
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(2 * kGiB));
  EXPECT_EQ(read_host_resources(root_).available_memory_bytes, 3 * kGiB);
}

TEST(DefaultCompileWorkers, CoresBoundedByMemory) {
  EXPECT_EQ(default_compile_workers({16, 128 * kGiB}), 16);
  EXPECT_EQ(default_compile_workers({16, 6 * kGiB}), 4);
  EXPECT_EQ(default_compile_workers({16, 0}), 1);
}

// Twice a worker's share of the memory, at most all of it, and never less than what a compiler needs.
TEST(CompileAddressSpace, FollowsTheMemory) {
  EXPECT_EQ(compile_address_space_mib({16, 128 * kGiB}, 16, 1), 16 << 10);
  EXPECT_EQ(compile_address_space_mib({16, 128 * kGiB}, 1, 1), 128 << 10);
  EXPECT_EQ(compile_address_space_mib({2, 2 * kGiB}, 2, 1), 6 << 10);
  EXPECT_EQ(compile_address_space_mib({2, 2 * kGiB}, 1, 2), 8 << 10);
}

TEST_F(HostResourcesTest, KillsForWantOfMemoryAreCounted) {
  EXPECT_FALSE(out_of_memory_kills(root_));
  write("proc/vmstat", "nr_free_pages 5\noom_kill 3\n");
  EXPECT_EQ(out_of_memory_kills(root_), 3);
}

}  // namespace
}  // namespace tunebook
