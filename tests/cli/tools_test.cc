// Sanitizers and the profiler as users meet them.
#include <filesystem>
#include <string>

#include "cli_support.h"
#include "db/store.h"

namespace tunebook::test {
namespace {

class ToolsTest : public CliTest {
 protected:
  // BAD = 1 reads behind an array of its own, BAD = 2 behind one in shared memory: what is there changes nothing, no page ends there,
  // and the good ones are slower.
  std::string kernels() {
    write("kernels/overrun/kernel.cu", R"(
template <int BLOCK, int BAD>
__global__ void overrun(float* y, const float* x, long long n) {
  __shared__ float tile[BLOCK];
  __shared__ float next[4];
  const long long index = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  float own[4];
  for (int i = 0; i < 4; ++i) own[i] = index < n ? x[index] * (i + 1) : 0;
  tile[threadIdx.x] = own[1];
  if (threadIdx.x < 4) next[threadIdx.x] = 1;
  __syncthreads();
  float value = tile[threadIdx.x] + next[index & 3] - 1;
  volatile float* local = own;
  volatile float* shared = tile;
  value += local[index & 3] * 0;
  if (BAD == 1 && local[4 + (n & 0)] == 12345.678f) value += 1;
  if (BAD == 2 && shared[BLOCK + (n & 0)] == 12345.678f) value += 1;
  if (BAD == 0) {
#pragma unroll 1
    for (int i = 0; i < 64; ++i) value += local[i & 3] * 0;
  }
  if (index < n) y[index] = value;
}
)");
    write("kernels/overrun/reference.cu", R"(
__global__ void overrun_reference(float* y, const float* x, long long n) {
  const long long index = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index < n) y[index] = 2 * x[index];
}
)");
    write("kernels/overrun/kernel.json", R"json({
  "tunebook": 1, "kernel": "overrun", "summary": "y = 2 x; some of the configurations read behind an array",
  "source": "kernel.cu", "entry": "overrun", "instantiate": ["BLOCK", "BAD"],
  "problem": {"n": {"default": 8192, "verify": [1, 257]}},
  "parameters": {"BLOCK": {"values": [64, 128], "help": "threads per block"}, "BAD": {"values": [0, 1, 2], "help": "which array"}},
  "constraints": [],
  "presets": {"default": {"BLOCK": 64, "BAD": 0}},
  "launch": {"block": ["BLOCK"], "grid": ["ceil_div(n, BLOCK)"], "shared_bytes": "0"},
  "arguments": [
    {"name": "y", "type": "f32*", "count": "n", "access": "out"},
    {"name": "x", "type": "f32*", "count": "n", "access": "in", "fill": "uniform(-1, 1)"},
    {"name": "n", "type": "i64", "value": "n"} ],
  "reference": {"source": "reference.cu", "entry": "overrun_reference", "block": ["256"], "grid": ["ceil_div(n, 256)"]},
  "tolerance": {"f32": {"rel": "4 * eps", "abs": "4 * eps"}}
})json");
    return (folder() / "kernels").string();
  }
};

TEST_F(ToolsTest, WhatGuardPagesCannotSeeIsKeptOutByTheSanitizer) {
  const std::vector<std::string> command = {"tune", "overrun", "--templates", kernels(), "--shape", "8192", "--device", "cpu", "--strategy",
                                            "exhaustive", "--budget", "all", "--finalists", "2", "--finalist-processes", "1", "--json"};
  std::vector<std::string> sanitized = command;
  sanitized.push_back("--sanitize");
  const auto tuned = run_json(sanitized, 300);
  EXPECT_EQ(tuned["trials"]["ok"].get<int>() + tuned["trials"].value("abandoned", 0), 6) << tuned.dump();
  ASSERT_TRUE(tuned["winner"].is_object()) << tuned.dump();
  EXPECT_EQ(tuned["winner"]["configuration"]["BAD"], 0);
  const auto& sanitizer = tuned["sanitizer"];
  EXPECT_EQ(sanitizer["tool"], "AddressSanitizer");
  EXPECT_GE(sanitizer["clean"].get<int>(), 1) << sanitizer.dump();
  EXPECT_TRUE(sanitizer["unfinished"].empty()) << sanitizer.dump();
  ASSERT_FALSE(sanitizer["findings"].empty()) << sanitizer.dump();
  for (const auto& entry : sanitizer["findings"]) {
    const std::string finding = entry["finding"];
    EXPECT_EQ(finding.rfind("AddressSanitizer: ", 0), 0u) << finding;
    const int bad = entry["configuration"]["BAD"];
    EXPECT_NE(bad, 0) << finding;
    const char* part = bad == 1 ? "stack-buffer-overflow: READ of size 4" : "outside of a shared array";
    EXPECT_NE(finding.find(part), std::string::npos) << finding;
  }
  const auto winner = Store(book()).session_winner(tuned["session"]);
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->finalists.front().sanitizer, "clean");
  EXPECT_EQ(winner->finalists.back().sanitizer.rfind("AddressSanitizer: ", 0), 0u);
  EXPECT_FALSE(winner->finalists.back().in_tie_set);

  // The answer from the book says the same; without --sanitize it is another session.
  const auto again = run_json(sanitized, 300);
  EXPECT_EQ(again["session"], tuned["session"]);
  EXPECT_EQ(again["sanitizer"]["findings"], sanitizer["findings"]);
  const auto plain = run_json(command, 300);
  EXPECT_NE(plain["session"], tuned["session"]);
  EXPECT_FALSE(plain.contains("sanitizer"));
  EXPECT_TRUE(all_gone());
}

TEST_F(ToolsTest, AProfileIsShownAndKeptWithItsTrial) {
  const auto script = write("ncu",
                            "#!/bin/sh\nwhile [ $# -gt 0 ]; do case \"$1\" in --log-file) LOG=\"$2\"; shift 2;; --csv) shift;; --*) shift 2;; "
                            "*) break;; esac; done\n\"$@\"\n"
                            "printf '\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\\n\"\",\"\",\"ns\"\\n\"0\",\"k\",\"1,500\"\\n' > $LOG\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  set_environment("TUNEBOOK_NCU", script.string());
  const std::vector<std::string> command = {"run", "vector_add", "--templates", user_kernels(), "--shape", "4096", "--device", "cpu"};
  std::vector<std::string> profiled = command;
  profiled.push_back("--profile");
  const ProgramResult shown = run(profiled);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("1.50 us, at the profiler's pace"), std::string::npos) << shown.out;
  const std::size_t at = shown.err.find("session ");
  ASSERT_NE(at, std::string::npos) << shown.err;
  const std::string session = shown.err.substr(at + 8, 32);
  const Store store(book());
  ASSERT_EQ(store.session_trials(session).size(), 1u);
  const auto profiles = store.session_profiles(session);
  ASSERT_EQ(profiles.size(), 1u);
  EXPECT_EQ(profiles.front().tool, "ncu");
  EXPECT_EQ(profiles.front().metrics, (nlohmann::json{{"gpu__time_duration.sum", 1500.0}}));
  EXPECT_FALSE(store.session_winner(session));

  profiled.push_back("--json");
  EXPECT_EQ(run_json(profiled)["profile"]["metrics"]["gpu__time_duration.sum"], 1500.0);
  EXPECT_TRUE(all_gone());
}

TEST_F(ToolsTest, AProfileThatCannotBeHasAReasonAndLeavesNoBook) {
  const auto json = run_json({"run", "vector_add", "--templates", user_kernels(), "--shape", "4096", "--device", "cpu", "--profile", "--json"});
  EXPECT_EQ(json["outcome"], "ok");
  EXPECT_EQ(json["profile"]["skipped"], "Nsight Compute counts on GPUs only, this is the cpu device");
  EXPECT_FALSE(std::filesystem::exists(book()));
}

TEST_F(ToolsTest, ARecordingCannotBeSanitized) {
  expect_bad_input({"tune", "x", "--device", "replay:/nowhere", "--sanitize"}, {"leave out --sanitize"});
}

}  // namespace
}  // namespace tunebook::test
