#include "session/profiler.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "session/tool_locator.h"
#include "session/tool_worker.h"

namespace tunebook {
namespace {

// Each pass over the counters runs the kernel again, and saves and restores what it writes.
constexpr double kSlowdown = 30;
constexpr double kStartSeconds = 120;
constexpr double kEndSeconds = 60;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

ToolJob job_of(const std::string& ncu, const ProfilerRun& run, const std::vector<std::string>& metrics, const ToolFolder& folder) {
  ToolJob job;
  job.worker = run.runner;
  job.worker.role = WorkerRole::runner;
  // A verification launches the kernel twice; the first time its code and the tables of its memory are not at hand yet.
  const std::string& symbol = run.launch.launches.front().symbol;
  const auto first_round = std::count_if(run.launch.launches.begin(), run.launch.launches.end(),
                                     [&](const KernelLaunch& launch) { return launch.symbol == symbol; });
  job.worker.wrapper = {ncu, "--target-processes", "all", "--csv", "--page", "raw", "--print-units", "base", "--log-file", folder.file("log"),
                        "--clock-control", "none", "--cache-control", run.cache == CacheMode::cold ? "all" : "none",
                        "--kernel-name-base", "mangled", "--kernel-name", symbol,
                        "--launch-skip", std::to_string(first_round), "--launch-count", "1", "--metrics", joined(metrics)};
  job.worker.wrapper_end_s = kEndSeconds;
  job.setup = run.setup;
  RunRequest request;
  request.id = 1;
  request.verify = {run.launch};
  job.requests = {request};
  job.start_s = kStartSeconds;
  job.step_s = run.step_s * kSlowdown;
  job.stop = run.stop;
  return job;
}

ProfileReport skipped(std::string reason) {
  ProfileReport report;
  report.tool = "ncu";
  report.reason = std::move(reason);
  return report;
}

}  // namespace

ProfileReport profile(EventLoop& loop, const std::string& device_kind, const ProfilerRun& run) {
  // A tool that is named expressly is asked on any device.
  if (device_kind != "cuda" && std::getenv("TUNEBOOK_NCU") == nullptr) {
    return skipped(fmt::format("Nsight Compute counts on GPUs only, this is the {} device", device_kind));
  }
  const ToolLocation ncu = find_ncu();
  if (ncu.path.empty()) return skipped(ncu.reason);
  std::vector<std::string> metrics = profile_metrics();
  for (;;) {
    const ToolFolder folder;
    const ToolAnswers answers = run_under_tool(loop, job_of(ncu.path, run, metrics, folder));
    if (answers.stopped) return skipped("interrupted");
    const std::string log = folder.read("log");
    ProfileReport report = parse_ncu_report(log);
    if (report.ok()) return report;
    // Counters differ between generations of GPUs; without those that this one does not have, the others are still of use.
    const std::vector<std::string> rejected = rejected_metrics(log, metrics);
    if (!rejected.empty() && rejected.size() < metrics.size()) {
      std::erase_if(metrics, [&](const std::string& metric) { return std::find(rejected.begin(), rejected.end(), metric) != rejected.end(); });
      continue;
    }
    if (log.empty() && !answers.lost.empty()) report.reason = "under ncu " + answers.lost;
    if (log.empty() && !answers.replies.empty() && answers.replies.back().outcome != Outcome::ok) {
      report.reason = "under ncu: " + answers.replies.back().message;
    }
    return report;
  }
}

}  // namespace tunebook
