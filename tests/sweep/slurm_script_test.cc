#include "sweep/slurm_script.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "book_fixture.h"
#include "core/error.h"
#include "core/json_text.h"
#include "sweep/slurm.h"
#include "worker/child_process.h"

namespace tunebook::testing {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

const Words kDevices = {"cuda", "cuda:1", "cpu", "replay:/a@b/c.json"};

TEST(SlurmOption, HasAScopeANameAndAValue) {
  EXPECT_EQ(SlurmOption::parse("partition=short", kDevices), (SlurmOption{"", "partition", "short"}));
  EXPECT_EQ(SlurmOption::parse("--partition=short", kDevices), (SlurmOption{"", "partition", "short"}));
  EXPECT_EQ(SlurmOption::parse("cuda@gres=gpu:h200:1", kDevices), (SlurmOption{"cuda", "gres", "gpu:h200:1"}));
  EXPECT_EQ(SlurmOption::parse("cuda:1@--gpus-per-task=1", kDevices), (SlurmOption{"cuda:1", "gpus-per-task", "1"}));
  EXPECT_EQ(SlurmOption::parse("merge@mem=4G", kDevices), (SlurmOption{"merge", "mem", "4G"}));
  EXPECT_EQ(SlurmOption::parse("exclusive", kDevices).argument(), "--exclusive");
  EXPECT_EQ(SlurmOption::parse("mail-user=me@example.org", kDevices).argument(), "--mail-user=me@example.org");
  EXPECT_EQ(SlurmOption::parse("replay:/a@b/c.json@constraint=a=b", kDevices), (SlurmOption{"replay:/a@b/c.json", "constraint", "a=b"}));
  EXPECT_EQ(SlurmOption::parse("signal=B:TERM@300", kDevices).value, "B:TERM@300");
}

TEST(SlurmOption, IsRefusedWithTheReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "expected NAME=VALUE"},          {"=x", "expected NAME=VALUE"},       {"p=short", "long name"},
      {"Partition=x", "expected NAME"},     {"a b=c", "expected NAME"},          {"array=0-3", "given by Tunebook"},
      {"dependency=x", "given by Tunebook"}, {"cuda@no-requeue", "given by Tunebook"}, {"rocm@gres=gpu:1", "'rocm' is no device of the plan"},
      {"cuda:0@gres=gpu:1", "no device of the plan; expected cuda, cuda:1, cpu"},      {"signal=USR1@10", "signal=B:TERM@SECONDS"},
      {"comment=a\nb", "line break"},       {"@x=1", "no device"},
  };
  for (const auto& [text, part] : cases) {
    const std::string error = error_of([text = text] { SlurmOption::parse(text, kDevices); });
    EXPECT_NE(error.find(part), std::string::npos) << text << ": " << error;
    EXPECT_NE(error.find("--slurm-option"), std::string::npos) << error;
  }
}

TEST(Slurm, IndicesAreWrittenAsRanges) {
  EXPECT_EQ(index_ranges({}), "");
  EXPECT_EQ(index_ranges({4}), "4");
  EXPECT_EQ(index_ranges({0, 1, 2, 3}), "0-3");
  EXPECT_EQ(index_ranges({0, 2, 3, 5, 7, 8, 9}), "0,2-3,5,7-9");
}

TEST(Slurm, TheJobNumberIsFoundAmongWarnings) {
  EXPECT_EQ(parse_job_number("123\n"), "123");
  EXPECT_EQ(parse_job_number("123;cluster\n"), "123");
  EXPECT_EQ(parse_job_number("sbatch: Warning: can't run 1 processes on 2 nodes, setting nnodes to 1\n77\n"), "77");
  EXPECT_THROW(parse_job_number(""), EnvironmentError);
  EXPECT_THROW(parse_job_number("Submitted batch job 12\n"), EnvironmentError);
  EXPECT_NE(error_of([] { parse_job_number("sbatch: error: no\n"); }).find("sbatch: error: no"), std::string::npos);
}

// The scripts are run with stand-ins for tunebook and for Slurm's commands.
class SlurmScriptTest : public BookTest {
 protected:
  void SetUp() override {
    BookTest::SetUp();
    fs::create_directories(folder_ / "bin");
    fs::create_directories(sweep().folder());
    program("squeue", "echo \"squeue $*\" >>\"$CALLS\"; cat \"$STATE\"\n");
    program("scontrol", "echo \"scontrol $*\" >>\"$CALLS\"\n");
    setenv("CALLS", file("calls").c_str(), 1);
    setenv("STATE", file("state").c_str(), 1);
    std::ofstream(file("calls"));
    std::ofstream(file("state")) << "RUNNING\n";
    path_ = std::getenv("PATH");
    setenv("PATH", ((folder_ / "bin").string() + ":" + path_).c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("CALLS");
    unsetenv("STATE");
    BookTest::TearDown();
  }
  // Names that a careless script would trip over.
  SlurmSweep sweep() const {
    SlurmSweep sweep;
    sweep.name = "nightly";
    sweep.program = folder_ / "bin" / "tune book";
    sweep.frozen = folder_ / "it's $HOME; 100%a" / "plan.json";
    sweep.snapshot_every_s = 90;
    sweep.task_arguments = {"--compile-workers", "4"};
    return sweep;
  }
  void program(const std::string& name, const std::string& text) const {
    const fs::path path = folder_ / "bin" / name;
    std::ofstream(path) << "#!/bin/sh\n" << text;
    chmod(path.c_str(), 0755);
  }
  ChildResult run_task(const std::string& restarts = "") const {
    write_slurm_scripts(sweep());
    Words environment = {"SLURM_ARRAY_JOB_ID=70", "SLURM_ARRAY_TASK_ID=3"};
    if (!restarts.empty()) environment.push_back("SLURM_RESTART_COUNT=" + restarts);
    return run_child({"sh", sweep().task_script().string()}, environment);
  }
  std::string calls() const { return read_text_file(file("calls")); }

 private:
  std::string path_;
};

TEST_F(SlurmScriptTest, ATaskRunsItsShardOfTheFrozenPlan) {
  program("tune book", "for word; do echo \"[$word]\"; done\n");
  const ChildResult result = run_task();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, "[sweep]\n[--frozen]\n[" + sweep().frozen.string() + "]\n[--shard]\n[3]\n[--snapshot-every]\n[90]\n[--compile-workers]\n[4]\n");
  EXPECT_EQ(calls(), "");
}

TEST_F(SlurmScriptTest, WhatIsOverIsNotPutBackIntoTheQueue) {
  for (const int code : {0, 1, 2, 3}) {
    program("tune book", "exit " + std::to_string(code) + "\n");
    EXPECT_EQ(run_task().exit_code, code);
  }
  EXPECT_EQ(calls(), "");
}

TEST_F(SlurmScriptTest, WhatWasKilledOrStoppedIsPutBackUntilTheRetriesAreUsedUp) {
  program("tune book", "kill -KILL $$\n");
  EXPECT_EQ(run_task().exit_code, 137);
  EXPECT_EQ(calls(), "squeue --noheader --jobs 70_3 --format %T\nscontrol requeue 70_3\n");
  program("tune book", "exit 75\n");
  EXPECT_EQ(run_task("1").exit_code, 75);
  std::ofstream(file("calls"));
  const ChildResult last = run_task("2");
  EXPECT_EQ(last.exit_code, 75);
  EXPECT_EQ(calls(), "");
  EXPECT_NE(last.output.find("70_3: ended with 75 and was restarted 2 times: not again"), std::string::npos) << last.output;
}

TEST_F(SlurmScriptTest, ATaskThatSlurmRestartsAgainAndAgainIsGivenUp) {
  program("tune book", "exit 0\n");
  EXPECT_EQ(run_task("22").exit_code, 0);
  const ChildResult last = run_task("23");
  EXPECT_EQ(last.exit_code, 1);
  EXPECT_NE(last.output.find("was restarted 23 times: given up"), std::string::npos) << last.output;
}

TEST_F(SlurmScriptTest, WhatWasCancelledIsLeftAlone) {
  program("tune book", "exit 75\n");
  for (const char* const state : {"COMPLETING\n", "CANCELLED\n", ""}) {
    std::ofstream(file("calls"));
    std::ofstream(file("state")) << state;
    EXPECT_EQ(run_task().exit_code, 75);
    EXPECT_EQ(calls().find("requeue"), std::string::npos) << state;
  }
}

TEST_F(SlurmScriptTest, ASignalIsPassedOnAndTheEndWaitedFor) {
  // Ends a while after it was told; a shell sees the signal when its own child ends.
  program("tune book",
          "trap 'told=1' TERM\necho $$ >\"$CALLS.pid\"\nwhile [ -z \"$told\" ]; do sleep 0.05; done\nsleep 0.3\necho left >>\"$CALLS\"\nexit 75\n");
  write_slurm_scripts(sweep());
  const pid_t shell = fork();
  if (shell == 0) {
    setenv("SLURM_ARRAY_JOB_ID", "70", 1);
    setenv("SLURM_ARRAY_TASK_ID", "3", 1);
    execlp("sh", "sh", sweep().task_script().c_str(), nullptr);
    _exit(127);
  }
  for (int i = 0; i < 400 && !fs::exists(file("calls").string() + ".pid"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(25));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(shell, SIGTERM);
  kill(shell, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(shell, &status, 0), shell);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 75);
  EXPECT_EQ(calls(), "left\nsqueue --noheader --jobs 70_3 --format %T\nscontrol requeue 70_3\n");
}

TEST_F(SlurmScriptTest, ArraysAndTheirMergeAreSubmittedByArgumentVector) {
  program("sbatch", "for word; do echo \"[$word]\" >>\"$CALLS\"; done\necho 'sbatch: a warning' >&2\nwc -l <\"$CALLS\"\n");
  write_slurm_scripts(sweep());
  const SlurmSubmission submission = submit_to_slurm(sweep(), {{{0, 1, 2}, {{"", "partition", "a b"}, {"cuda", "gres", "gpu:1"}}}, {{3, 5}, {}}}, {{"", "mem", "1G"}});
  const std::string shared = sweep().folder().string();
  std::string log = shared;
  log.replace(log.find("%a"), 2, "%%a");
  const auto common = [&](const std::string& name, const std::string& file) {
    return "[--parsable]\n[--job-name=" + name + "]\n[--chdir=" + shared + "]\n[--requeue]\n[--open-mode=append]\n[--output=" + log + "/log/" + file + "]\n";
  };
  const std::string first = common("nightly", "shard-%a.log") + "[--array=0-2]\n[--signal=B:TERM@120]\n[--partition=a b]\n[--gres=gpu:1]\n[" + shared + "/task.sh]\n";
  const std::string second = common("nightly", "shard-%a.log") + "[--array=3,5]\n[--signal=B:TERM@120]\n[" + shared + "/task.sh]\n";
  EXPECT_EQ(submission.arrays.size(), 2U);
  EXPECT_EQ(calls(), first + second + common("nightly-merge", "merge.log") + "[--dependency=afterany:" + submission.arrays[0] + ":" + submission.arrays[1] +
                         "]\n[--mem=1G]\n[" + shared + "/merge.sh]\n");
  const auto written = parse_json_text(read_text_file(sweep().folder() / "submission.json"), "submission.json");
  EXPECT_EQ(written["arrays"], submission.to_json()["arrays"]);
  EXPECT_EQ(written["merge"], submission.merge);
}

TEST_F(SlurmScriptTest, WithoutSlurmThatIsSaid) {
  program("sbatch", "echo 'no configuration' >&2; exit 1\n");
  const std::string error = error_of([] { check_slurm(); });
  EXPECT_NE(error.find("--slurm: no configuration"), std::string::npos) << error;
  program("sbatch", "echo slurm-wlm 22.05.8\n");
  check_slurm();
}

TEST_F(SlurmScriptTest, ASubmissionThatFailsSaysWhatWasSubmitted) {
  program("sbatch", "case \"$*\" in *dependency*) echo 'sbatch: error: no such account' >&2; exit 1;; esac\necho 41\n");
  write_slurm_scripts(sweep());
  const std::string error = error_of([&] { submit_to_slurm(sweep(), {{{0}, {}}}, {}); });
  EXPECT_NE(error.find("no such account"), std::string::npos) << error;
  EXPECT_NE(error.find("scancel 41"), std::string::npos) << error;
  program("squeue", "case \"$*\" in *jobs=41*) echo 41_0;; *) echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1;; esac\n");
  EXPECT_EQ(jobs_in_queue(sweep().folder()), Words{"41_0"});
  program("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n");
  EXPECT_EQ(jobs_in_queue(sweep().folder()), Words{});
  program("squeue", "echo 'Unable to contact slurm controller' >&2; exit 1\n");
  EXPECT_THROW(jobs_in_queue(sweep().folder()), EnvironmentError);
}

}  // namespace
}  // namespace tunebook::testing
