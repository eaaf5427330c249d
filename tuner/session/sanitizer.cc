#include "session/sanitizer.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/dtype.h"
#include "session/sanitizer_log.h"
#include "session/tool_locator.h"
#include "session/tool_worker.h"

namespace tunebook {
namespace {

// How much longer everything may take. Racecheck records each access to shared memory: 10 to 100 times are usual.
constexpr double kToolSlowdown = 60;
constexpr double kAsanSlowdown = 10;
constexpr double kToolStartSeconds = 120;
// To write the summary after the worker ended.
constexpr double kToolEndSeconds = 120;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;  // of a problem's buffers, if there are smaller problems
constexpr int kErrorExitCode = 86;
constexpr int kPrintedErrors = 20;

const std::vector<std::string> kTools = {"memcheck", "racecheck", "initcheck", "synccheck"};

class SanitizerSession {
 public:
  SanitizerSession(EventLoop& loop, const SanitizerChoice& sanitizer, const SanitizerRun& run)
      : loop_(loop), sanitizer_(sanitizer), run_(run) {}

  std::vector<SanitizerVerdict> run(const std::vector<SanitizerCandidate>& candidates) {
    std::vector<SanitizerVerdict> verdicts;
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      verdicts.push_back({candidates[i].configuration, "", Outcome::ok, true, ""});
      all.push_back(i);
    }
    const std::vector<std::string> tools = sanitizer_.program.empty() ? std::vector<std::string>{"AddressSanitizer"}
                                           : run_.tools.empty()      ? kTools
                                                                     : run_.tools;
    for (const std::string& tool : tools) {
      std::vector<std::size_t> left;
      for (const std::size_t i : all) {
        if (verdicts[i].finding.empty()) left.push_back(i);
      }
      if (left.empty()) break;
      const Found together = check(tool, candidates, left);
      if (stopped_) return {};
      // What took too long together is not tried one by one.
      if (left.size() == 1 || together.clean() || together.timed_out) {
        for (const std::size_t i : left) note(verdicts[i], tool, together);
        continue;
      }
      for (const std::size_t i : left) {
        note(verdicts[i], tool, check(tool, candidates, {i}));
        if (stopped_) return {};
      }
    }
    return verdicts;
  }

 private:
  struct Found {
    std::string finding;
    Outcome outcome = Outcome::ok;
    std::string unfinished;  // why the tool did not get to its end
    bool timed_out = false;
    bool clean() const { return finding.empty() && unfinished.empty(); }
  };

  static void note(SanitizerVerdict& verdict, const std::string& tool, const Found& found) {
    if (found.clean()) return;
    verdict.clean = false;
    if (!found.finding.empty()) {
      verdict.finding = fmt::format("{}: {}", tool, found.finding);
      verdict.outcome = found.outcome;
    } else {
      verdict.note += fmt::format("{}{}: {}", verdict.note.empty() ? "" : "; ", tool, found.unfinished);
    }
  }

  Found check(const std::string& tool, const std::vector<SanitizerCandidate>& candidates, const std::vector<std::size_t>& which) {
    const ToolFolder folder;
    const ToolAnswers answers = run_under_tool(loop_, job(tool, candidates, which, folder));
    stopped_ = stopped_ || answers.stopped;
    Found found;
    found.unfinished = answers.lost;
    found.timed_out = answers.lost_outcome == Outcome::run_timeout;
    if (sanitizer_.program.empty()) {
      found.finding = parse_asan_report(answers.output);
    } else {
      const SanitizerLog log = parse_compute_sanitizer_log(folder.read("log"), symbols(candidates, which));
      if (!log.findings.empty()) found.finding = log.findings.front();
      if (!log.complete && found.unfinished.empty()) found.unfinished = "the tool wrote no summary";
      if (!found.unfinished.empty() && !log.failure.empty()) found.unfinished += fmt::format(" ({})", log.failure);
    }
    if (!found.finding.empty()) found.outcome = Outcome::fault;
    if (!answers.replies.empty() && answers.replies.back().outcome != Outcome::ok) {
      const RunReply& reply = answers.replies.back();
      if (reply.outcome == Outcome::out_of_memory) {  // the tool needs memory, too
        found.unfinished = reply.message;
      } else if (found.finding.empty()) {
        found.outcome = reply.outcome;
        found.finding = reply.message;
      }
    }
    return found;
  }

  ToolJob job(const std::string& tool, const std::vector<SanitizerCandidate>& candidates, const std::vector<std::size_t>& which,
              const ToolFolder& folder) const {
    ToolJob job;
    job.worker = run_.runner;
    job.worker.role = WorkerRole::runner;
    job.setup = run_.setup;
    std::erase_if(job.setup.problems, [&](const ProblemSetup& setup) {
      return std::ranges::none_of(which, [&](std::size_t i) {
        return std::ranges::any_of(candidates[i].verify, [&](const ProblemLaunch& launch) { return launch.problem == setup.problem; });
      });
    });
    job.stop = run_.stop;
    for (const std::size_t i : which) {
      RunRequest request;
      request.id = static_cast<std::int64_t>(i) + 1;
      request.verify = candidates[i].verify;
      job.requests.push_back(std::move(request));
    }
    if (sanitizer_.program.empty()) {
      job.worker.environment.emplace_back("TUNEBOOK_CPU_SANITIZE", "address");
      job.step_s = run_.step_s * kAsanSlowdown;
      return job;
    }
    job.step_s = run_.step_s * kToolSlowdown;
    job.start_s = kToolStartSeconds;
    // Guard bands would hide what is read or written just outside of a buffer.
    job.worker.environment.emplace_back("TUNEBOOK_EXACT_BUFFERS", "1");
    job.worker.wrapper_end_s = kToolEndSeconds;
    std::vector<std::string>& wrapper = job.worker.wrapper;
    wrapper = {sanitizer_.program, "--tool", tool, "--target-processes", "all", "--demangle", "no", "--log-file", folder.file("log"),
               "--error-exitcode", std::to_string(kErrorExitCode), "--print-limit", std::to_string(kPrintedErrors)};
    if (tool == "memcheck") wrapper.insert(wrapper.end(), {"--report-api-errors", "no"});
    // Our own kernels initialise what the candidate reads, so initcheck must see them; what it says of them is passed over.
    if (tool == "initcheck") return job;
    for (const std::string& symbol : symbols(candidates, which)) wrapper.insert(wrapper.end(), {"--kernel-name", "kne=" + symbol});
    return job;
  }

  static std::vector<std::string> symbols(const std::vector<SanitizerCandidate>& candidates, const std::vector<std::size_t>& which) {
    std::set<std::string> names;
    for (const std::size_t i : which) {
      for (const ProblemLaunch& problem : candidates[i].verify) {
        for (const KernelLaunch& launch : problem.launches) names.insert(launch.symbol);
      }
    }
    return {names.begin(), names.end()};
  }

  EventLoop& loop_;
  const SanitizerChoice& sanitizer_;
  const SanitizerRun& run_;
  bool stopped_ = false;
};

}  // namespace

const std::vector<std::string>& compute_sanitizer_tools() { return kTools; }

SanitizerChoice choose_sanitizer(const std::string& device_kind) {
  if (device_kind == "cpu") return {"AddressSanitizer", "", ""};
  if (device_kind != "cuda") return {"", "", fmt::format("a {} device runs no kernels", device_kind)};
  const ToolLocation tool = find_compute_sanitizer();
  if (tool.path.empty()) return {"", "", tool.reason};
  return {"compute-sanitizer", tool.path, ""};
}

std::vector<std::int64_t> problems_for_sanitizer(const SetupRequest& setup, const std::vector<std::int64_t>& applicable) {
  const auto bytes = [&](std::int64_t number) {
    std::int64_t sum = 0;
    for (const ProblemSetup& problem : setup.problems) {
      if (problem.problem != number) continue;
      for (const ArgumentSetup& argument : problem.arguments) {
        if (argument.pointer) sum += argument.count * static_cast<std::int64_t>(dtype_size(argument.dtype));
      }
    }
    return sum;
  };
  std::vector<std::int64_t> chosen;
  std::ranges::copy_if(applicable, std::back_inserter(chosen), [&](std::int64_t number) { return bytes(number) <= kMostBytes; });
  if (chosen.empty() && !applicable.empty()) chosen.push_back(std::ranges::min(applicable, {}, bytes));
  return chosen;
}

std::vector<SanitizerVerdict> sanitize(EventLoop& loop, const SanitizerChoice& sanitizer, const SanitizerRun& run,
                                       const std::vector<SanitizerCandidate>& candidates) {
  return SanitizerSession(loop, sanitizer, run).run(candidates);
}

}  // namespace tunebook
