// What Nsight Compute writes: rows per kernel and rows per metric, without permission, without kernels, damaged.
#include "session/profiler_report.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

const std::string kWide =
    "==PROF== Connected to process 2614852 (/opt/tunebook/bin/tunebook-cuda-worker)\n"
    "==PROF== Profiling \"scale\" - 0: 0%....50%....100% - 8 passes\n"
    "==PROF== Disconnected from process 2614852\n"
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\","
    "\"dram__bytes_read.sum\",\"dram__bytes_write.sum\",\"gpu__time_duration.sum\","
    "\"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio\","
    "\"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum\",\"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum\","
    "\"sm__warps_active.avg.pct_of_peak_sustained_active\","
    "\"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio\","
    "\"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio\"\n"
    "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"byte\",\"byte\",\"ns\",\"\",\"\",\"\",\"%\",\"inst\",\"inst\"\n"
    "\"0\",\"2614852\",\"tunebook-cuda-worker\",\"127.0.0.1\",\"void scale<64>(float *, \"\"x\"\", long long)\",\"1\",\"13\",\"(64, 1, 1)\","
    "\"(1,024, 1, 1)\",\"0\",\"9.0\",\"33,556,480\",\"1,024\",\"63,968\",\"4\",\"1,234\",\"12,340\",\"93.71\",\"0.25\",\"7.5\"\n"
    "\"1\",\"2614852\",\"tunebook-cuda-worker\",\"127.0.0.1\",\"other\",\"1\",\"13\",\"(64, 1, 1)\",\"(1, 1, 1)\",\"0\",\"9.0\",\"1\",\"1\",\"1\","
    "\"1\",\"1\",\"1\",\"1\",\"1\",\"1\"\n";

TEST(ProfilerReport, ARowForAKernel) {
  const ProfileReport report = parse_ncu_report(kWide);
  ASSERT_TRUE(report.ok()) << report.reason;
  EXPECT_EQ(report.tool, "ncu");
  EXPECT_EQ(report.metrics.size(), 9u);
  EXPECT_DOUBLE_EQ(report.metrics.at("dram__bytes_read.sum"), 33556480);
  EXPECT_DOUBLE_EQ(report.metrics.at("sm__warps_active.avg.pct_of_peak_sustained_active"), 93.71);
  EXPECT_DOUBLE_EQ(report.metrics.at("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"), 7.5);
}

TEST(ProfilerReport, ForPeople) {
  const auto rows = describe_profile(parse_ncu_report(kWide).metrics);
  const auto text = [&](const std::string& name) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.first == name; });
    return found == rows.end() ? "" : found->second;
  };
  EXPECT_EQ(text("duration"), "63.97 us, at the profiler's pace");
  EXPECT_EQ(text("achieved occupancy"), "93.7 % of the warps that an SM can hold");
  EXPECT_EQ(text("global loads"), "4.00 sectors of 32 bytes a request");
  EXPECT_EQ(text("shared loads"), "1234 bank conflicts in 12340 wavefronts (10.0 %)");
  EXPECT_EQ(text("stalled warps"), "long_scoreboard 7.50, barrier 0.25 (for each that issues)");
  EXPECT_EQ(text("global stores"), "");
  EXPECT_TRUE(describe_profile(nlohmann::json::object()).empty());
}

TEST(ProfilerReport, ARowForAMetric) {
  const ProfileReport report = parse_ncu_report(
      "==PROF== Connected to process 1234\n"
      "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Section Name\",\"Metric Name\",\"Metric "
      "Unit\",\"Metric Value\"\n"
      "\"0\",\"1234\",\"w\",\"h\",\"copy(float*)\",\"1\",\"7\",\"Command line profiler metrics\",\"dram__bytes_read.sum\",\"byte\",\"2,000\"\n"
      "\"0\",\"1234\",\"w\",\"h\",\"copy(float*)\",\"1\",\"7\",\"Command line profiler metrics\",\"gpu__time_duration.sum\",\"ns\",\"n/a\"\n"
      "\"1\",\"1234\",\"w\",\"h\",\"copy(float*)\",\"1\",\"7\",\"Command line profiler metrics\",\"dram__bytes_read.sum\",\"byte\",\"9\"\n");
  ASSERT_TRUE(report.ok()) << report.reason;
  EXPECT_EQ(report.metrics, (nlohmann::json{{"dram__bytes_read.sum", 2000.0}}));
}

TEST(ProfilerReport, WithoutPermission) {
  const ProfileReport report = parse_ncu_report(
      "==PROF== Connected to process 87374 (/opt/tunebook/bin/tunebook-cuda-worker)\n"
      "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0. "
      "For instructions on enabling permissions and to get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n"
      "==PROF== Disconnected from process 87374\n==WARNING== No kernels were profiled.\n");
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.reason,
            "no permission to read the GPU's performance counters (ERR_NVGPUCTRPERM): run as root, or have the administrator set the driver "
            "option NVreg_RestrictProfilingToAdminUsers=0");
}

TEST(ProfilerReport, OtherReasons) {
  EXPECT_EQ(parse_ncu_report("==ERROR== Profiling is not supported on device 0.\n").reason, "Profiling is not supported on device 0.");
  EXPECT_EQ(parse_ncu_report("==PROF== Connected\n==WARNING== No kernels were profiled.\n").reason, "No kernels were profiled.");
  EXPECT_EQ(parse_ncu_report("").reason, "ncu profiled no kernel");
  EXPECT_EQ(parse_ncu_report("\"ID\",\"Kernel Name\",\"a__b\"\n\"0\",\"k\",\"n/a\"\n").reason, "ncu gave no numbers for the kernel");
}

TEST(ProfilerReport, EveryPrefixIsRead) {
  for (std::size_t length = 0; length < kWide.size(); ++length) {
    const ProfileReport report = parse_ncu_report(kWide.substr(0, length));
    EXPECT_NE(report.ok(), report.metrics.empty());
  }
}

TEST(ProfilerReport, MetricsThatTheGpuDoesNotHave) {
  const std::vector<std::string>& metrics = profile_metrics();
  EXPECT_GT(metrics.size(), 25u);
  EXPECT_EQ(rejected_metrics("==ERROR== Failed to find metric smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio\n", metrics),
            (std::vector<std::string>{"smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio"}));
  EXPECT_TRUE(rejected_metrics(kWide, metrics).empty());
}

}  // namespace
}  // namespace tunebook
