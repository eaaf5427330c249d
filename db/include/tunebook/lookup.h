#pragma once

// Tunebook's lookup: which configuration is best for this kernel, this shape, this GPU? Needs the standard library only.
//
//   const tunebook::Lookup book("/data/book.db");
//   tunebook::Query query;
//   query.kernel = "matmul";
//   query.problem = {{"m", 4096}, {"n", 4096}, {"k", 4096}, {"dtype", "f32"}};
//   query.device = tunebook::device_key(properties);  // <tunebook/cuda_device.h>, from cudaDeviceProp
//   if (const auto answer = book.best(query)) use(answer->configuration, answer->tier);

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tunebook {

// A problem dimension's or a parameter's value.
using LookupValue = std::variant<std::int64_t, bool, std::string>;
using LookupValues = std::vector<std::pair<std::string, LookupValue>>;

// The identity of a device and the limits that decide whether a configuration can run on it. Zero or empty: not known; what is not
// known of the identity is not compared, and limits that are not given come from what the book knows of this device, else from a
// table by compute capability.
struct DeviceKey {
  std::string kind = "cuda";       // "cuda" or "cpu"
  std::string name;                // "NVIDIA H200"; a MIG profile is part of it
  int compute_capability = 0;      // 90 for sm_90
  std::string instruction_set;     // cpu
  std::int64_t sm_count = 0;
  std::int64_t memory_gib = 0;     // total memory rounded to GiB
  std::string host_compiler;       // cpu
  // Limits of one block.
  std::int64_t max_threads_per_block = 0;
  std::int64_t shared_bytes_per_block_optin = 0;
  std::int64_t registers_per_block = 0;
  friend bool operator==(const DeviceKey&, const DeviceKey&) = default;
};

// How an answer matched its question, best first.
//   exact              this device and this problem
//   predicted          this device; the configuration that the book's model of time expects to be the fastest. It stands in the
//                      place of near and far wherever it expects to lose less than they do
//   near               this device, the nearest problem within LookupOptions::near_cap, categorical dimensions equal
//   same_architecture  another device of the same compute capability (cpu: instruction set), exact before near
//   far                a problem beyond the cap, this device before others of its architecture, then the nearest
//   shipped            what a book of LookupOptions::shipped_books answers
//   preset_default     the preset `default` of the kernel's declaration
// Within each tier rows of the asked kernel_hash come first; equally near problems: the smaller one (by the product of its sizes), then
// the order of their canonical JSON; several winners for one problem and device: the latest finished session, then the smaller id.
// Every candidate is checked against the asked problem and device (its constraints, its launch, the shared memory, threads and
// registers recorded of it, the architecture that its code is for); one that fails is passed over.
enum class Tier { exact, predicted, near, same_architecture, far, shipped, preset_default };
const char* tier_name(Tier tier);  // "exact", "predicted", "near", "same_architecture", "far", "shipped", "default"

// Whether the kernel has changed since it was tuned: unknown if the question gives no hash.
enum class Stale { no, yes, unknown };
const char* stale_name(Stale stale);  // "no", "yes", "unknown"

struct Query {
  std::string kernel;
  LookupValues problem;            // {{"m", 512}, {"n", 512}, {"k", 512}, {"dtype", "f32"}}; missing categoricals: the default
  DeviceKey device;
  std::string kernel_hash;         // empty: not known
  std::string objective = "time";  // or "energy"
  std::string method = "cold";     // cache mode of the measurement, "cold" or "warm"; or a whole method, "cold/2@1500MHz"
  friend bool operator==(const Query&, const Query&) = default;
};

struct Answer {
  Tier tier = Tier::exact;
  double distance = 0;             // Euclidean, of the log2 of the sizes; 0 for exact and default
  LookupValues configuration;      // in declared order
  LookupValues problem;            // the tuned problem, in declared order; empty for default
  DeviceKey device;                // where it was tuned; kind "" for default
  std::optional<double> median_us; // of one launch, on that problem and device
  std::optional<double> ci_low_us, ci_high_us;  // 95 % interval of the median
  Stale stale = Stale::unknown;
  // Where it comes from. Empty for default, but for kernel_hash and what was recorded of the preset's resources.
  std::string session;             // 32 hex digits
  std::string tuned_at_utc;        // ISO 8601: when the session was finished
  std::string kernel_hash;         // of the version that was tuned; empty: of a declaration that came with LookupOptions
  std::string objective;
  std::string method;              // "cold/2"
  std::optional<std::int64_t> registers_per_thread;  // as recorded; empty: not known
  std::optional<std::int64_t> shared_bytes;          // static and dynamic, of one block
  // What the answer is expected to lose against the best configuration of the asked problem, as a share: 0.05 means that the best
  // takes 0.95 of its time. Eighty percent of such questions lose at most loss_bound. Of predicted, near and far, where the book has
  // a model; else empty. `problem` and `distance` are those of the nearest tuned problem.
  std::optional<double> expected_loss, loss_bound;
  std::optional<double> predicted_us;                // of one launch on the asked problem; predicted only
  std::string source;                                // of shipped: the file name of the book that answered; else ""
  std::optional<Tier> shipped_tier;                  // of shipped: how that book's answer matched
  friend bool operator==(const Answer&, const Answer&) = default;
};

// Why a candidate is not the answer.
enum class Obstacle {
  none,              // it is the answer
  not_needed,        // usable, but a better one was found
  constraint,        // a constraint of the kernel does not hold for the asked problem and device
  limit,             // a block needs more threads, registers or shared memory than the device allows, or the grid is too large
  architecture,      // code for one architecture only (sm_90a), or of a newer one
  device_kind,       // the declaration excludes it on the cpu
  undeclared_value,  // not a configuration of the kernel's declaration
  declaration,       // the kernel's declaration does not fit the asked problem, or cannot be read
  categorical,       // tuned for another dtype, another arithmetic, ...
  other_device,      // neither this device nor its architecture
  other_objective,
  other_method,
  unfinished,        // its session has not come to an end
  unreadable,        // a row that this version cannot read
};
const char* obstacle_name(Obstacle obstacle);  // "none", "not needed", "constraint", ...

struct Consideration {
  Answer candidate;                // as it would have been given
  bool in_a_tier = true;           // false: ruled out before any tier (candidate.tier means nothing then)
  Obstacle obstacle = Obstacle::none;
  std::string reason;              // in words, with numbers: "constraint \"m % BM == 0\" does not hold"; empty for none
};

struct Explanation {
  std::shared_ptr<const Answer> answer;     // what best() gives; null: nothing
  std::vector<Consideration> considered;    // tier by tier in the order of preference; what belongs to no tier comes last
  std::int64_t left_out = 0;                // candidates beyond the asked number
};

// "Near" ends here: a factor of four in one size, or of 2.7 in two. Beyond it a configuration is more a guess than an answer.
inline constexpr double kNearCap = 2.0;

struct LookupOptions {
  std::string spec_json;           // a kernel's declaration for the `default` tier when the book does not have it
  bool no_book = false;            // answer from the declarations alone; the path is not opened
  double near_cap = kNearCap;      // a distance; infinity: every problem is near
  // Changes of the book (a new one renamed into place, or a tuner at work) are seen at the latest after this time. 0: the file is
  // looked at with every question, which then costs microseconds.
  std::chrono::milliseconds refresh_interval{1000};
  std::vector<std::string> more_specs_json;  // as spec_json, for further kernels
  // Questions that were not answered exactly are appended to this file, if one is named, one JSON object per line (the input of
  // `tunebook sweep`); once per process, at most so many a second. Several processes may share it. A file that cannot be written is
  // no error of the lookup.
  std::string record_misses;
  int record_misses_per_second = 100;
  // Answered questions that are kept per thread; the oldest are forgotten beyond it.
  std::size_t kept_questions = 4096;
  // Published books that are asked last, before the preset `default`: those that come with the templates. One that is missing or cannot
  // be read is no error.
  std::vector<std::string> shipped_books;
};

// A book opened read-only. Movable; safe to share between threads. Not to be used by a child after fork(): open another one there.
class Lookup {
 public:
  // Throws std::runtime_error with what is wrong and what to do.
  explicit Lookup(const std::string& book_path, LookupOptions options = {});
  ~Lookup();
  Lookup(Lookup&&) noexcept;
  Lookup& operator=(Lookup&&) noexcept;

  // The best configuration known, and how it matched; null if there is neither a winner nor a preset. The answer never changes and
  // lives as long as it is held, also beyond the Lookup. A question that a thread repeats costs a hash and a comparison: no lock, no
  // allocation, nothing written that another thread reads.
  // Throws std::invalid_argument for a query that names no kernel, or whose problem fits no known version of the kernel (a size
  // is missing, a dimension unknown); std::runtime_error if the book cannot be read any more (what this thread has asked before is
  // still answered).
  std::shared_ptr<const Answer> best(const Query& query) const;

  // The first `count` different configurations for this question, the most promising first: the answer of best(), then what the
  // model of time puts next, then near and far ones, then the preset. For timing them where they run. Slower than best().
  // Throws as best() does.
  std::vector<Answer> ranked(const Query& query, std::size_t count) const;

  // What best() considers for this question, and why each candidate but the answer was passed over: at most `most` candidates.
  // Slower: for people, not for programs. Throws as best() does.
  Explanation explain(const Query& query, std::size_t most = 100) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tunebook
