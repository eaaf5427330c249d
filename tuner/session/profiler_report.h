#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace tunebook {

// The counters that a profile asks Nsight Compute for.
const std::vector<std::string>& profile_metrics();

struct ProfileReport {
  std::string tool;         // "ncu"
  std::string reason;       // not empty: there are no metrics, and why
  nlohmann::json metrics = nlohmann::json::object();  // name -> number, in base units: nanoseconds, bytes, percent
  bool ok() const { return reason.empty(); }
};

// Reads what `ncu --csv --page raw --print-units base` wrote: a row per kernel (or, as older ones do, a row per metric) among lines of
// its own. Takes the first kernel. `reason` is set if there is none: the tool's own first error, or that no kernel was profiled.
ProfileReport parse_ncu_report(std::string_view text);

// Of `metrics`, those that errors in the report name: this GPU has no such counter.
std::vector<std::string> rejected_metrics(std::string_view text, const std::vector<std::string>& metrics);

// What a diagnosis asks of `metrics`. Each is nothing, or 0, if it was not counted.
class ProfileCounters {
 public:
  explicit ProfileCounters(const nlohmann::json& metrics) : metrics_(metrics) {}
  std::optional<double> sm_throughput() const;      // percent of the peak of the busiest pipe
  std::optional<double> memory_throughput() const;  // the same of caches, shared and device memory
  std::optional<double> dram_gbps() const;
  double sum_of_conflicts() const;   // bank conflicts of loads and stores
  double sum_of_wavefronts() const;  // passes over shared memory, conflicts among them
  // Of the time that warps wait (selected ones aside), the share of these reasons: 0 to 1.
  double stall_share(std::initializer_list<std::string_view> reasons) const;
  std::optional<std::string> largest_stall() const;

 private:
  std::optional<double> value(const char* name) const;
  const nlohmann::json& metrics_;
};

// For people, as name and value: duration, throughputs, occupancy, sectors per request, bank conflicts, the largest stall reasons.
// What was not counted is left out.
std::vector<std::pair<std::string, std::string>> describe_profile(const nlohmann::json& metrics);

}  // namespace tunebook
