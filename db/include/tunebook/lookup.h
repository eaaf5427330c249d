#pragma once

// Tunebook's lookup: which configuration is best for this kernel, this shape, this GPU? Needs the standard library only.

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

// The identity of a device and the limits that decide whether a configuration can run on it. Zero or empty: not known;
// limits that are not given come from a table by compute capability.
struct DeviceKey {
  std::string kind = "cuda";       // "cuda" or "cpu"
  std::string name;                // "NVIDIA H200"
  int compute_capability = 0;      // 90 for sm_90
  std::string instruction_set;     // cpu
  std::int64_t sm_count = 0;
  std::int64_t memory_gib = 0;     // total memory rounded to GiB
  std::string host_compiler;       // cpu
  std::int64_t max_threads_per_block = 0;
  std::int64_t shared_bytes_per_block_optin = 0;
  std::int64_t registers_per_block = 0;
};

enum class Tier { exact, near, same_architecture, far, preset_default };
const char* tier_name(Tier tier);  // "exact", "near", "same_architecture", "far", "default"

enum class Stale { no, yes, unknown };

struct Query {
  std::string kernel;
  LookupValues problem;            // {{"m", 512}, {"n", 512}, {"k", 512}, {"dtype", "f32"}}; missing categoricals: the default
  DeviceKey device;
  std::string kernel_hash;         // empty: not known
  std::string objective = "time";
  std::string method = "cold";     // cache mode of the measurement
};

struct Answer {
  Tier tier = Tier::exact;
  double distance = 0;             // in log2 of sizes; 0 for exact and default
  LookupValues configuration;
  LookupValues problem;            // the tuned problem; empty for default
  DeviceKey device;                // where it was tuned
  std::optional<double> median_us;
  Stale stale = Stale::unknown;
  std::string session;             // where it comes from
  std::string tuned_at_utc;
  std::string kernel_hash;
};


struct LookupOptions {
  std::string spec_json;           // the kernel's declaration for the `default` tier when the book does not have it
  bool no_book = false;            // answer from spec_json alone; the path is not opened
};

// A book opened read-only. Movable; safe to share between threads.
class Lookup {
 public:
  // Throws std::runtime_error with what is wrong and what to do.
  explicit Lookup(const std::string& book_path, LookupOptions options = {});
  ~Lookup();
  Lookup(Lookup&&) noexcept;
  Lookup& operator=(Lookup&&) noexcept;

  // The best configuration known, and how it matched; nothing if there is neither a winner nor a preset.
  // Throws std::invalid_argument for a query that names no kernel, or whose problem fits no known version of the kernel (a size
  // is missing, a dimension unknown); std::runtime_error if the book cannot be read any more.
  std::optional<Answer> best(const Query& query) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tunebook
