// Tools that are scripts: they start the worker as the real ones do and write what those write.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "process_test_support.h"
#include "session/profiler.h"
#include "session/sanitizer.h"
#include "session/tool_locator.h"

namespace tunebook {
namespace {

namespace fs = std::filesystem;

class ToolFlowTest : public ProcessTest {
 protected:
  ToolFlowTest() : folder_(fs::temp_directory_path() / ("tunebook_tools_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    run_.runner = fake_worker(WorkerRole::runner);
    run_.setup.problems.resize(1);
    run_.setup.problems.front().display = "n=1";
  }
  ~ToolFlowTest() override {
    ::unsetenv("TUNEBOOK_NCU");
    fs::remove_all(folder_);
  }

  // `body` may use $LOG, $TOOL and $ALL (the tool's own arguments), and must run "$@", the worker.
  std::string tool(const std::string& body) const {
    const fs::path path = folder_ / "tool";
    std::ofstream(path) << "#!/bin/sh\nALL=\"$*\"\necho \"$ALL\" >> " << (folder_ / "calls").string() << "\n"
                        << "while [ $# -gt 0 ]; do\n  case \"$1\" in\n"
                           "    --log-file) LOG=\"$2\"; shift 2;;\n    --tool) TOOL=\"$2\"; shift 2;;\n"
                           "    --csv) shift;;\n    --*) shift 2;;\n    *) break;;\n  esac\ndone\n"
                        << body << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  std::string calls() const {
    std::ifstream file(folder_ / "calls");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static SanitizerCandidate candidate(std::int64_t value, const std::string& symbol) {
    SanitizerCandidate result;
    result.configuration.set("TILE", value);
    ProblemLaunch launch;
    launch.launches = {{"kernel.cubin", symbol, {}}};
    result.verify = {launch};
    return result;
  }
  std::vector<SanitizerVerdict> run(const std::string& body) {
    return sanitize(loop_, {"compute-sanitizer", tool(body), ""}, run_, {candidate(1, "_Z4goodv"), candidate(2, "_Z3badv")});
  }

  fs::path folder_;
  EventLoop loop_;
  SanitizerRun run_;
};

TEST_F(ToolFlowTest, CleanCandidatesShareOneProcessPerTool) {
  const auto verdicts = run("\"$@\"\necho '========= ERROR SUMMARY: 0 errors' > $LOG");
  ASSERT_EQ(verdicts.size(), 2u);
  for (const SanitizerVerdict& verdict : verdicts) {
    EXPECT_TRUE(verdict.clean) << verdict.note;
    EXPECT_EQ(verdict.finding, "");
  }
  const std::string said = calls();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 4);
  for (const char* part : {"--tool memcheck ", "--tool racecheck ", "--tool initcheck ", "--tool synccheck ", "--kernel-name kne=_Z4goodv",
                           "--kernel-name kne=_Z3badv", "--role runner --fd 3"}) {
    EXPECT_NE(said.find(part), std::string::npos) << said;
  }
}

TEST_F(ToolFlowTest, OnlyTheChosenToolsRun) {
  run_.tools = {"racecheck"};
  const auto verdicts = run("\"$@\"\necho '========= ERROR SUMMARY: 0 errors' > $LOG");
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_TRUE(verdicts[0].clean && verdicts[1].clean);
  const std::string said = calls();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_NE(said.find("--tool racecheck "), std::string::npos) << said;
}

TEST(ProblemsForSanitizer, AreSmallOnesOrTheSmallest) {
  SetupRequest setup;
  const auto add = [&](std::int64_t number, std::int64_t count) {
    ProblemSetup problem;
    problem.problem = number;
    ArgumentSetup buffer, scalar;
    buffer.pointer = true;
    buffer.dtype = DType::f32;
    buffer.count = count;
    scalar.count = 1 << 30;
    problem.arguments = {buffer, buffer, scalar};
    setup.problems.push_back(problem);
  };
  add(0, 100000000);      // the tuned one: 800 MB
  add(1, 10);
  add(2, (1 << 17) + 1);  // 1 MiB and 8 bytes
  add(3, 1 << 17);        // 1 MiB
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(problems_for_sanitizer(setup, {1, 2, 3, 0}), (Numbers{1, 3}));
  EXPECT_EQ(problems_for_sanitizer(setup, {3, 1}), (Numbers{3, 1}));
  EXPECT_EQ(problems_for_sanitizer(setup, {2, 0}), (Numbers{2}));
  EXPECT_EQ(problems_for_sanitizer(setup, {0}), (Numbers{0}));
  EXPECT_EQ(problems_for_sanitizer(setup, {}), (Numbers{}));
}

TEST_F(ToolFlowTest, AFindingIsOfOneCandidateAndEndsItsChecks) {
  const auto verdicts = run(
      "\"$@\"\n"
      "case \"$TOOL $ALL\" in\n"
      "  racecheck*_Z3badv*) printf '========= Error: Race reported between Write access at _Z3badv+0x90\\n"
      "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\\n' > $LOG; exit 86;;\n"
      "esac\n"
      "echo '========= ERROR SUMMARY: 0 errors' > $LOG");
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_TRUE(verdicts[0].clean) << verdicts[0].note << verdicts[0].finding;
  EXPECT_FALSE(verdicts[1].clean);
  EXPECT_EQ(verdicts[1].finding, "racecheck: Race reported between Write access at bad+0x90");
  EXPECT_EQ(verdicts[1].outcome, Outcome::fault);
  const std::string said = calls();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 6);  // memcheck; racecheck together and for each; the other two for the good one
}

TEST_F(ToolFlowTest, AToolThatSaysNothingIsNoFinding) {
  const auto verdicts = run("\"$@\"\necho '========= Internal Sanitizer Error: out of resources' > $LOG");
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].finding, "");
  EXPECT_FALSE(verdicts[0].clean);
  EXPECT_NE(verdicts[0].note.find("memcheck: the tool wrote no summary (Internal Sanitizer Error: out of resources)"), std::string::npos)
      << verdicts[0].note;
}

TEST_F(ToolFlowTest, AToolThatDoesNotStartTheWorkerIsNoFinding) {
  const auto verdicts = run("echo 'no device' >&2\nexit 3");
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[1].finding, "");
  EXPECT_NE(verdicts[1].note.find("exit code 3"), std::string::npos) << verdicts[1].note;
}

TEST_F(ToolFlowTest, StopEndsItWithoutVerdictsAndWithoutProcesses) {
  run_.stop = [] { return true; };
  EXPECT_TRUE(run("\"$@\"").empty());
  // The worker is a grandchild: killed with its tool, it comes to us.
  for (int i = 0; i < 300 && ::waitpid(-1, nullptr, WNOHANG) >= 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

TEST_F(ToolFlowTest, AProfileIsReadFromTheLog) {
  const std::string path = tool(
      "\"$@\"\n"
      "printf '==PROF== Connected\\n\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\\n\"\",\"\",\"ns\"\\n\"0\",\"good()\",\"1,500\"\\n' > $LOG");
  ::setenv("TUNEBOOK_NCU", path.c_str(), 1);
  ProfilerRun profiler;
  profiler.runner = run_.runner;
  profiler.setup = run_.setup;
  profiler.launch = candidate(1, "_Z4goodv").verify.front();
  const ProfileReport report = profile(loop_, "cuda", profiler);
  ASSERT_TRUE(report.ok()) << report.reason;
  EXPECT_EQ(report.metrics, (nlohmann::json{{"gpu__time_duration.sum", 1500.0}}));
  EXPECT_NE(calls().find("--kernel-name-base mangled --kernel-name _Z4goodv --launch-skip 1 --launch-count 1"), std::string::npos) << calls();
}

TEST_F(ToolFlowTest, AMetricThatIsNotThereIsLeftOut) {
  const std::string path = tool(
      "\"$@\"\n"
      "case \"$ALL\" in *stalled_gmma*) echo '==ERROR== Failed to find metric smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio' "
      "> $LOG; exit 1;; esac\n"
      "printf '\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\\n\"0\",\"good()\",\"7\"\\n' > $LOG");
  ::setenv("TUNEBOOK_NCU", path.c_str(), 1);
  ProfilerRun profiler;
  profiler.runner = run_.runner;
  profiler.setup = run_.setup;
  profiler.launch = candidate(1, "_Z4goodv").verify.front();
  EXPECT_TRUE(profile(loop_, "cuda", profiler).ok());
}

TEST_F(ToolFlowTest, WithoutTheToolThereIsAReason) {
  ::setenv("TUNEBOOK_NCU", "/nowhere/ncu", 1);
  EXPECT_EQ(find_ncu().path, "");
  EXPECT_EQ(find_ncu().reason, "TUNEBOOK_NCU is '/nowhere/ncu', which is no program; correct it or unset it");
  ::unsetenv("TUNEBOOK_NCU");
  EXPECT_EQ(profile(loop_, "cpu", {}).reason, "Nsight Compute counts on GPUs only, this is the cpu device");
  EXPECT_NE(find_tool("tunebook-no-such-tool", "TUNEBOOK_NO_SUCH_TOOL").reason.find("is not installed"), std::string::npos);
}

}  // namespace
}  // namespace tunebook
