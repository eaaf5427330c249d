#include "fault_cases.h"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "core/value.h"
#include "db/store.h"

namespace tunebook::test {
namespace {

constexpr double kRunTimeoutSeconds = 2;
constexpr double kCompileTimeoutSeconds = 5;
// Where nothing hangs in the compiler: a busy machine must not end a good one.
constexpr double kPatientCompileTimeoutSeconds = 60;
// What a bad configuration may cost beyond its timeout.
constexpr double kLostSeconds = 2;
// More than enough for a coordinator (and for the sanitizers it may be built with) that keeps of a worker's output the end alone.
constexpr std::int64_t kCoordinatorKib = 512 << 10;

constexpr std::chrono::seconds kLongestSession{120};

// The first problem that is verified is n=1001, the last of the lists in kernel.json.
std::vector<FaultCase> make_cases() {
  const std::string timeout = "did not end within";
  const Ending no_registers{"", "", "the cpu device has no registers that a kernel could have too many of"};
  std::vector<FaultCase> cases = {
      {"does_not_compile",
       {"compile_error", "this configuration is meant not to compile", ""},
       {"compile_error", "this configuration is meant not to compile", ""}},
      {"compiles_for_ever", {"compile_timeout", "did not finish within 5 s", ""}, {"compile_timeout", "did not finish within 5 s", ""}},
      {"crashes_compiler", {"compile_error", ") crashed", ""}, {"compile_error", "the compiler crashed (signal 11)", ""}},

      {"illegal_address", {"fault", "illegal access in thread (", ""}, {"fault", "cudaErrorIllegalAddress", ""}},
      {"misaligned_access", {"fault", "a misaligned vector", ""}, {"fault", "cudaErrorMisalignedAddress", ""}},
      {"trap", {"fault", "kernel.cu:10: __trap() in thread (244,0,0) of block (1,0,0)", ""}, {"fault", "cudaError", ""}},
      {"device_assert", {"fault", "assertion `value < 0` failed in thread (", ""}, {"fault", "cudaErrorAssert", ""}},
      {"infinite_loop", {"run_timeout", timeout, ""}, {"run_timeout", timeout, ""}},
      {"prints_for_ever", {"run_timeout", "of 1001 is ", ""}, {"run_timeout", timeout, ""}},
      // No GPU reports it.
      {"divergent_barrier", {"divergent_barrier", "is at the barrier in kernel.cu:13 while thread (", ""}, {"run_timeout", timeout, ""}},

      {"wrong_when_ragged", {"wrong_result", "n=1001: y[768] is ", ""}, {"wrong_result", "n=1001: y[768] is ", ""}},
      {"element_unwritten", {"wrong_result", ": it was not written", ""}, {"wrong_result", ": it was not written", ""}},
      {"nan_written", {"wrong_result", "y[500] is nan, expected ", ""}, {"wrong_result", "y[500] is nan, expected ", ""}},
      {"infinity_of_wrong_sign", {"wrong_result", "is inf, expected -inf", ""}, {"wrong_result", "is inf, expected -inf", ""}},
      {"writes_behind",
       {"wrong_result", "memory outside buffer 'y' was overwritten at byte 4004", ""},
       {"wrong_result", "writes outside of y: 0 bytes behind its end", ""}},
      {"writes_before",
       {"wrong_result", "memory outside buffer 'y' was overwritten at byte -4", ""},
       {"wrong_result", "writes outside of y: 4 bytes before its start", ""}},
      {"workspace_overrun",
       {"wrong_result", "memory outside buffer 'work' was overwritten at byte ", ""},
       {"wrong_result", "writes outside of work: 0 bytes behind its end (", ""}},
      {"workspace_left_dirty",
       {"wrong_result", "work[0] of the workspace is left at ", ""},
       {"wrong_result", "leaves its workspace work[0] at ", ""}},
      {"reads_outside", {"wrong_result", "n=1001: y[1000] is ", ""}, {"wrong_result", "n=1001: y[1000] is ", ""}},
      {"reads_outside_unused",
       {"fault", "access outside buffer 'x': byte offset +16 past its end", ""},
       {"", "", "a GPU has no guard pages: what is read and not used is found by a sanitizer only"}},
      {"updates_in_place", {"wrong_result", "n=1001: y[500] is ", ""}, {"wrong_result", "n=1001: y[500] is ", ""}},
      {"modifies_input", {"wrong_result", "x[0] of an input was changed from ", ""}, {"wrong_result", "changes its input x[0] to ", ""}},
      {"wrong_when_repeated",
       {"wrong_result", "right at first, but not after it was timed: n=4096: y[0] is ", ""},
       {"wrong_result", "right at first, but not after it was timed: n=4096: y[0] is ", ""}},
      {"different_each_run", {"nondeterministic", " in one run and ", ""}, {"nondeterministic", " in one run and ", ""}},

      {"too_much_static_shared",
       {"no_resources", "49156 bytes of static shared memory per block, the device allows 49152", ""},
       {"no_resources", "uses too much shared data", ""}},
      {"too_much_dynamic_shared",
       {"no_resources", " bytes of shared memory per block, the device allows ", ""},
       {"no_resources", " bytes of shared memory per block, the device allows ", ""}},
      {"too_much_shared_together",
       {"no_resources", "(84996 dynamic, 16384 static), the device allows 101376", ""},
       {"no_resources", "no block fits a multiprocessor", ""}},
      {"too_many_threads",
       {"no_resources", "block of 1025 in x, the device allows 1024", ""},
       {"no_resources", "block of 1025 in x, the device allows 1024", ""}},
      {"too_many_registers", no_registers, {"no_resources", "no block fits a multiprocessor: 1024 threads with ", ""}},
      {"over_launch_bounds", no_registers, {"no_resources", "block of 256 threads, the kernel allows 128", ""}},
      {"grid_too_large",
       {"no_resources", "grid of 65536 in y, the device allows 65535", ""},
       {"no_resources", "grid of 65536 in y, the device allows 65535", ""},
       "n=65536"},
      // The problem takes 20 GiB, and the threads that a large GPU holds at once need 126 GiB more.
      {"too_much_memory",
       {"", "", "a configuration cannot ask the cpu device for memory: all buffers are the problem's"},
       {"out_of_memory", "cudaErrorMemoryAllocation", ""},
       "n=4096,spare=83886080"},
  };
  for (FaultCase& fault : cases) {
    fault.whole_space = fault.kernel == "does_not_compile" || fault.kernel == "illegal_address" || fault.kernel == "infinite_loop" ||
                        fault.kernel == "writes_before";
  }
  return cases;
}

// The most memory that a process had, in KiB, looked at until it ends. What wait4 tells includes workers and compilers.
std::int64_t peak_memory_kib(pid_t pid) {
  std::int64_t peak = 0;
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < kLongestSession) {
    std::istringstream status(read_file(fmt::format("/proc/{}/status", pid)));
    std::string word;
    std::int64_t now = 0;
    while (status >> word && word != "VmHWM:") {
    }
    if (!(status >> now)) return peak;  // ended
    peak = std::max(peak, now);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return peak;
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const FaultCase& fault) { return stream << fault.kernel; }

const std::vector<FaultCase>& fault_cases() {
  static const std::vector<FaultCase> cases = make_cases();
  return cases;
}

std::vector<std::string> FaultTest::tune_arguments(const std::string& kernel, const std::string& shape, const std::string& where) const {
  return {"tune", kernel, "--templates", fault_kernels(), "--shape", shape, "--device", device_, "--strategy", "exhaustive", "--budget", "all",
          "--where", where, "--run-timeout", fmt::format("{}", kRunTimeoutSeconds), "--compile-timeout",
          fmt::format("{}", kernel == "compiles_for_ever" ? kCompileTimeoutSeconds : kPatientCompileTimeoutSeconds), "--finalists", "2", "--finalist-processes", "1", "--json"};
}

void FaultTest::expect_one_bad_trial(const FaultCase& fault, const Ending& ending) {
  RunningProgram program = start(tune_arguments(fault.kernel, fault.shape, fault.whole_space ? "true" : "BAD != 0 or BLOCK == 256"));
  EXPECT_LT(peak_memory_kib(program.pid()), kCoordinatorKib);
  const ProgramResult result = program.wait(1);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto tuned = parse_one_line(result.out);
  ASSERT_TRUE(tuned["winner"].is_object()) << tuned.dump();
  EXPECT_NE(tuned["winner"]["configuration"]["BAD"], 1);

  int good = 0, bad = 0, twins = 0;
  for (const TrialRecord& trial : Store(book()).session_trials(tuned["session"])) {
    SCOPED_TRACE(trial.configuration.display());
    const std::string kind = to_text(trial.configuration.at("BAD"));
    if (kind != "1") {
      EXPECT_TRUE(has_time(trial.outcome)) << outcome_name(trial.outcome) << ": " << trial.message;
      ++(kind == "0" ? good : twins);
      continue;
    }
    ++bad;
    EXPECT_EQ(outcome_name(trial.outcome), ending.outcome) << trial.message;
    EXPECT_NE(trial.message.find(ending.message), std::string::npos) << trial.message;
    if (fault.kernel == "compiles_for_ever") {
      EXPECT_LE(trial.compile_seconds, kCompileTimeoutSeconds + kLostSeconds);
    }
    EXPECT_LE(trial.verify_seconds + trial.time_seconds, kRunTimeoutSeconds + kLostSeconds);
  }
  EXPECT_EQ(bad, 1);
  EXPECT_EQ(twins, 1);
  EXPECT_EQ(good, fault.whole_space ? 20 : 5);  // the preset is outside of --where
  EXPECT_TRUE(all_gone());
}

void FaultTest::expect_problem_too_large() {
  const auto first = run_json(tune_arguments("too_much_memory", "n=4096,spare=1", "BAD == 0 and BLOCK == 128 and WASTE == 0"));
  const ProgramResult result = run(tune_arguments("too_much_memory", "n=4096,spare=17179869184", "BAD == 0"));  // 4 TiB
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  // One message; hints may stand before it.
  const std::string message = "tunebook: device " + device_ + ": the problem could not be set up: out_of_memory: ";
  const std::size_t at = result.err.find(message);
  ASSERT_NE(at, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find('\n', at), result.err.size() - 1) << result.err;
  EXPECT_EQ(Store(book()).session_trials(first["session"]).size(), 2u);  // the preset and one more
  EXPECT_TRUE(all_gone());
}

}  // namespace tunebook::test
