#pragma once

// The messages between coordinator and workers: plain structs, each with to_json/from_json (MessagePack on the wire).
// Every request has an id that its reply repeats. All numbers are final: workers evaluate no expressions.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/baseline.h"
#include "core/ceiling.h"
#include "core/conditions.h"
#include "core/device.h"
#include "core/dtype.h"
#include "core/launch_plan.h"
#include "core/outcome.h"
#include "core/template_folder.h"

namespace tunebook {

inline constexpr int kProtocolVersion = 3;

enum class WorkerRole { compiler, runner };

// Worker -> coordinator, once, unasked, when it is ready. A runner knows its device by then and opens it right after.
struct Hello {
  int protocol = kProtocolVersion;
  WorkerRole role = WorkerRole::compiler;
  std::optional<Device> device;   // runners; a cpu compiler too
  std::string native_arch;        // "sm_90"; "cpu"
  std::string toolchain;          // identity of what compiles: "nvrtc 13.0" or "clang 14.0.6"
  std::string driver;             // "580.159.04 (CUDA 13.0)"; "" on cpu
  nlohmann::json environment;     // anything else worth recording (runtime version, host, clocks, ECC)
  std::string error;              // not empty: not usable; what is wrong and what to do
};

struct CompileRequest {
  std::int64_t id = 0;
  SourceText source;
  Instantiation instantiation;
  std::string arch;               // "sm_90"; "cpu"
  bool emit = false;              // also give ptx / generated source / sass in `emitted`
};

struct CompileReply {
  std::int64_t id = 0;
  Outcome outcome = Outcome::ok;  // ok, compile_error, no_resources (shared memory or registers over the limit)
  std::string message;            // the compiler's own words, trimmed to 16 KiB
  std::string artifact;           // path of the cubin or shared object in the cache
  std::string symbol;             // lowered name of the instantiation's first kernel
  std::vector<std::string> other_symbols;  // of its others
  Resources resources;
  std::string options;            // the full option line, for the record
  bool cached = false;
  double seconds = 0;             // wall time of this compile (0 when cached)
  std::vector<std::pair<std::string, std::string>> emitted;  // file name -> content
};

struct ArgumentSetup {
  std::string name;
  DType dtype = DType::f32;
  bool pointer = false;
  std::int64_t count = 0;         // elements
  Argument::Access access = Argument::Access::in;
  Fill fill;
  std::uint64_t seed = 0;
  std::int64_t integer = 0;       // scalar value for integer types
  double real = 0;                // scalar value for floating types
  double rel = 0, abs = 0;        // outputs: tolerance
};

struct KernelLaunch {
  std::string artifact;
  std::string symbol;
  LaunchShape shape;
  std::vector<ScalarValue> scalars = {};  // instead of the values of the problem's setup
};

// Buffers of one problem, with its reference result. A runner keeps several problems; problem 0 is the tuned one.
struct ProblemSetup {
  std::int64_t problem = 0;
  std::string display;                 // for messages: "m=1,n=33,k=7,dtype=f32"
  std::vector<ArgumentSetup> arguments;
  KernelLaunch reference;
};
struct SetupRequest {
  std::int64_t id = 0;
  std::vector<ProblemSetup> problems;  // replaces all that the runner has
};
struct SetupReply {
  std::int64_t id = 0;
  Outcome outcome = Outcome::ok;
  std::string message;
  double seconds = 0;
};

enum class CacheMode { cold, warm };

struct TimingPlan {
  CacheMode cache = CacheMode::cold;
  std::int64_t min_samples = 5;        // before the interval is believed to be narrow enough
  double min_kernel_seconds = 0;       // the same in time of samples: short kernels are noisier and cheaper to repeat
  std::int64_t abandon_samples = 5;    // before the interval is believed to lie above abandon_above_us
  std::int64_t max_samples = 50;
  double max_seconds = 0.5;            // of sampling, warm-up and flushing included
  double target_relative_width = 0.02; // of the median's 95 % interval
  double abandon_above_us = 0;         // 0: never. Give up once the interval lies above this
  double energy_seconds = 0;           // 0: no energy is measured. Else repeat for at least this long between two readings
};

struct ProblemLaunch {
  std::int64_t problem = 0;
  std::vector<KernelLaunch> launches;  // in order
  bool nondeterministic = false;       // run-to-run equality is not asked
  bool restore = false;                // inout arguments must be made anew before each launch
  std::vector<WorkspaceSize> workspaces = {};  // instead of the counts of the problem's setup
  std::optional<BaselineLaunch> baseline = {};  // instead of launches; of an InterleaveRequest only
};

// Verify on each of `verify` in turn (two runs with different poison), then time `time` if given.
struct RunRequest {
  std::int64_t id = 0;
  std::vector<ProblemLaunch> verify;
  std::optional<ProblemLaunch> time;
  TimingPlan timing;
};

struct Timing {
  std::vector<double> samples_us;      // of one launch: a sample's time less launch_us, divided by its launches
  std::int64_t launches_per_sample = 1;
  std::string method;                  // "cold/2": cache mode and the version of the measuring code
  bool abandoned = false;
  double launch_us = 0;                // what one launch of an empty kernel takes, measured the same way; not in samples_us
  Conditions conditions;
  std::optional<double> energy_j;      // of one launch; only if asked for and the device counts it
  double seconds = 0;                  // wall time of the timing step
};

struct Verification {
  std::int64_t problems = 0;           // verified
  double max_error = 0;                // largest |d| / (abs + rel*|ref|) seen
  double seconds = 0;
};

struct RunReply {
  std::int64_t id = 0;
  Outcome outcome = Outcome::ok;
  std::string message;                 // "m=1,n=33,k=7: c[32] is 0.5, expected 0.25 (tolerance 1e-6)"
  Resources resources;                 // what the driver knows: max_threads_per_block, blocks_per_sm
  Verification verification;
  std::optional<Timing> timing;
};

// Worker -> coordinator during a request, before each step that could hang; restarts the coordinator's clock.
struct Stage {
  std::int64_t id = 0;
  std::string what;                    // "load", "verify m=..", "time"
};

// How the baseline of an InterleaveRequest fared.
struct BaselineReport {
  BaselineState state = BaselineState::ok;
  std::string name;                    // "cuBLAS 13.0.2"; "" if it is not known
  std::string message;                 // which of the library's algorithms; else what went wrong, and what to do
  std::vector<std::string> fast = {};  // names of algorithms, the one that was taken first, then others that may be as fast
};

// Times several candidates interleaved (one sample of each in turn, order rotating): finalists, and at most one baseline, which must be
// right first. One that is not ok has no samples, and the others are timed as if it were not there.
struct InterleaveRequest {
  std::int64_t id = 0;
  std::vector<ProblemLaunch> candidates;
  std::int64_t samples = 10;           // each
  double max_seconds = 5;
  CacheMode cache = CacheMode::cold;
  double energy_seconds = 0;           // each; 0: no energy is measured
};
struct InterleaveReply {
  std::int64_t id = 0;
  Outcome outcome = Outcome::ok;
  std::string message;
  std::vector<Timing> timings;         // per candidate
  std::optional<BaselineReport> baseline;  // where a candidate is one
};

// Measures the device's ceilings: bandwidths at each of `bytes` by the method of `cache`, and arithmetic peaks.
struct CalibrateRequest {
  std::int64_t id = 0;
  CacheMode cache = CacheMode::cold;
  std::vector<std::int64_t> bytes;     // moved by one launch, reads and writes together
  bool arithmetic = true;
};
struct CalibrateReply {
  std::int64_t id = 0;
  Outcome outcome = Outcome::ok;
  std::string message;
  std::vector<Ceiling> ceilings;
};

// {"type": "compile", ...}; decode_* throw ProtocolError for anything malformed.
using Request = std::variant<CompileRequest, SetupRequest, RunRequest, InterleaveRequest, CalibrateRequest>;
using Reply = std::variant<Hello, CompileReply, SetupReply, RunReply, InterleaveReply, CalibrateReply, Stage>;
nlohmann::json encode(const Request& request);
nlohmann::json encode(const Reply& reply);
Request decode_request(const nlohmann::json& json);
Reply decode_reply(const nlohmann::json& json);

}  // namespace tunebook
