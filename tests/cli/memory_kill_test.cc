// The kernel's out-of-memory killer takes a worker: one trial is lost, the session is not. In a memory group of the test's own; skipped
// where none can be made.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli_support.h"
#include "db/store.h"

namespace tunebook::test {
namespace {

constexpr const char* kLimit = "700M";

// A memory group, version 1 or 2, below the one that we are in.
class MemoryGroup {
 public:
  MemoryGroup() {
    std::ifstream lines("/proc/self/cgroup");
    for (std::string line; std::getline(lines, line);) {
      const std::size_t first = line.find(':');
      const std::size_t second = line.find(':', first + 1);
      const std::string controllers = line.substr(first + 1, second - first - 1);
      if (controllers == "memory") try_folder("/sys/fs/cgroup/memory", line.substr(second + 1), "memory.limit_in_bytes");
      if (controllers.empty()) try_folder("/sys/fs/cgroup", line.substr(second + 1), "memory.max");
      if (usable_) return;
    }
  }
  ~MemoryGroup() {
    if (made_) ::rmdir(folder_.c_str());
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  bool usable() const { return usable_; }
  bool enter() const { return write(folder_ / "cgroup.procs", std::to_string(::getpid())); }
  void leave() const { write(parent_ / "cgroup.procs", std::to_string(::getpid())); }

 private:
  static bool write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
  }
  void try_folder(const std::filesystem::path& mount, const std::string& own, const std::string& limit_file) {
    parent_ = mount / std::filesystem::path(own).relative_path();
    if (!std::filesystem::exists(parent_)) parent_ = mount;
    folder_ = parent_ / ("tunebook-test-" + std::to_string(::getpid()));
    made_ = ::mkdir(folder_.c_str(), 0755) == 0;
    usable_ = made_ && write(folder_ / limit_file, kLimit) && enter();
    if (usable_) leave();
    if (made_ && !usable_) {
      ::rmdir(folder_.c_str());
      made_ = false;
    }
  }

  std::filesystem::path parent_, folder_;
  bool made_ = false, usable_ = false;
};

constexpr const char* kSpec = R"json({
  "tunebook": 1, "kernel": "hog", "summary": "y = 2 x, and much memory", "source": "kernel.cu", "entry": "hog",
  "instantiate": ["BLOCK", "BAD"],
  "problem": {"n": {"default": 4096, "verify": [1, 257]}},
  "parameters": {"BLOCK": {"values": [32, 64, 128], "help": "threads"}, "BAD": {"values": [0, 1, 2], "help": "takes 1.5 GiB, 1: when it runs, 2: when it is compiled"}},
  "constraints": ["BAD == 0 or BLOCK == 64"],
  "presets": {"default": {"BLOCK": 32, "BAD": 0}},
  "launch": {"block": ["BLOCK"], "grid": ["ceil_div(n, BLOCK)"]},
  "arguments": [
    {"name": "y", "type": "f32*", "count": "n", "access": "out"},
    {"name": "x", "type": "f32*", "count": "n", "access": "in", "fill": "uniform(-1, 1)"},
    {"name": "n", "type": "i64", "value": "n"}],
  "reference": {"source": "reference.cu", "entry": "hog_reference", "block": ["256"], "grid": ["ceil_div(n, 256)"]},
  "tolerance": {"f32": {"rel": "2 * eps", "abs": "0"}},
  "work": {"bytes": "8 * n"}
})json";
constexpr const char* kKernel = R"cuda(
template <int BAD> struct Hoard { static unsigned char bytes[1]; };
template <int BAD> unsigned char Hoard<BAD>::bytes[1];
template <> struct Hoard<1> { static unsigned char bytes[1610612736]; };
unsigned char Hoard<1>::bytes[1610612736];
template <int BAD> struct Bulk { static int data[BAD == 2 ? 400000000 : 1]; };
template <int BAD> int Bulk<BAD>::data[BAD == 2 ? 400000000 : 1] = {1};
template <int BLOCK, int BAD>
__global__ void hog(float* y, const float* x, long long n) {
  if (BAD == 1) {
    volatile unsigned char* bytes = Hoard<BAD>::bytes;
    for (unsigned long long i = 0; i < sizeof(Hoard<BAD>::bytes); i += 4096) bytes[i] = 1;
  }
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  if (index < n) y[index] = 2 * x[index];
  if (BAD == 2 && index == 0) y[0] = y[0] * Bulk<BAD>::data[0];
}
)cuda";
constexpr const char* kReference = R"cuda(
__global__ void hog_reference(float* y, const float* x, long long n) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index < n) y[index] = static_cast<float>(2.0 * x[index]);
}
)cuda";

class MemoryKill : public CliTest {};

TEST_F(MemoryKill, KilledForWantOfMemoryARunnerIsLostAndACompileFails) {
#ifdef TUNEBOOK_SANITIZED
  GTEST_SKIP() << "a sanitizer takes more memory than the test's limit";
#endif
  const MemoryGroup group;
  if (!group.usable()) GTEST_SKIP() << "no memory group of its own can be made here (cgroup not writable)";
  write("kernels/hog/kernel.json", kSpec);
  write("kernels/hog/kernel.cu", kKernel);
  write("kernels/hog/reference.cu", kReference);
  ASSERT_TRUE(group.enter());
  RunningProgram program = start({"tune", "hog", "--templates", (folder() / "kernels").string(), "--shape", "4096", "--device", "cpu", "--strategy",
                                  "exhaustive", "--budget", "all", "--finalist-processes", "2", "--compile-workers", "1", "--json"});
  group.leave();
  const ProgramResult result = program.wait(180);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto tuned = parse_one_line(result.out);
  EXPECT_EQ(tuned["trials"].value("worker_lost", 0), 1) << tuned.dump();
  EXPECT_EQ(tuned["trials"].value("compile_error", 0), 1) << tuned.dump();
  EXPECT_EQ(tuned["winner"]["configuration"]["BAD"], 0);
  for (const TrialRecord& trial : Store(book()).session_trials(tuned["session"])) {
    if (trial.outcome == Outcome::compile_error) {
      EXPECT_NE(trial.message.find("illed"), std::string::npos) << trial.message;
      EXPECT_NE(trial.message.find("memory"), std::string::npos) << trial.message;
    }
    if (trial.outcome != Outcome::worker_lost) continue;
    EXPECT_NE(trial.message.find("signal 9"), std::string::npos) << trial.message;
    EXPECT_NE(trial.message.find("out-of-memory killer"), std::string::npos) << trial.message;
  }
  EXPECT_TRUE(all_gone());
}

}  // namespace
}  // namespace tunebook::test
