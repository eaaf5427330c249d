#include "session/profiler_report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <system_error>

#include <fmt/format.h>

namespace tunebook {
namespace {

constexpr std::string_view kStall = "smsp__average_warps_issue_stalled_";
constexpr std::string_view kStallEnd = "_per_issue_active.ratio";
constexpr std::size_t kShownStalls = 5;
constexpr std::size_t kReasonBytes = 300;

constexpr const char* kDuration = "gpu__time_duration.sum";
constexpr const char* kSmThroughput = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
constexpr const char* kMemoryThroughput = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed";
constexpr const char* kOccupancy = "sm__warps_active.avg.pct_of_peak_sustained_active";
constexpr const char* kDramRead = "dram__bytes_read.sum";
constexpr const char* kDramWritten = "dram__bytes_write.sum";
constexpr const char* kLoadSectors = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
constexpr const char* kStoreSectors = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio";
constexpr const char* kLoadConflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
constexpr const char* kStoreConflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum";
constexpr const char* kLoadWavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
constexpr const char* kStoreWavefronts = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum";

// Why a warp that could not issue waited, as in the tool's "Warp State Statistics".
constexpr const char* kStallReasons[] = {"barrier",     "branch_resolving", "dispatch_stall",   "drain",        "gmma",
                                         "imc_miss",    "lg_throttle",      "long_scoreboard",  "math_pipe_throttle",
                                         "membar",      "mio_throttle",     "misc",             "no_instruction",
                                         "not_selected", "short_scoreboard", "sleeping",        "tex_throttle", "wait"};

template <typename Action>
void each_line(std::string_view text, Action action) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    action(line);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// Nothing if a quoted field does not end.
std::optional<std::vector<std::string>> split_csv(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += line[++i];
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  if (quoted) return std::nullopt;
  return fields;
}

// "1,234.5" and "1234.5"; nothing for "n/a", "(128, 1, 1)" and the like.
std::optional<double> number(std::string text) {
  std::erase(text, ',');
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_metric(const std::string& name) { return name.find("__") != std::string::npos; }

std::optional<std::size_t> column(const std::vector<std::string>& header, std::string_view name) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

// Takes rows until those of the first kernel are over.
class KernelRows {
 public:
  void take(const std::vector<std::string>& fields) {
    if (header_.empty()) {
      if (column(fields, "ID") && column(fields, "Kernel Name")) header_ = fields;
      return;
    }
    if (fields.size() != header_.size()) return;
    const std::string& id = fields[*column(header_, "ID")];
    if (id.empty()) return;  // the row of units
    if (first_id_.empty()) first_id_ = id;
    if (id != first_id_) return;
    const auto name = column(header_, "Metric Name");
    const auto value = column(header_, "Metric Value");
    if (name && value) return add(fields[*name], fields[*value]);
    for (std::size_t i = 0; i < fields.size(); ++i) add(header_[i], fields[i]);
  }
  bool any() const { return !first_id_.empty(); }
  nlohmann::json metrics = nlohmann::json::object();

 private:
  void add(const std::string& name, const std::string& text) {
    if (!is_metric(name)) return;
    if (const auto value = number(text)) metrics[name] = *value;
  }

  std::vector<std::string> header_;
  std::string first_id_;
};

// The tool's own words, and what can be done.
std::string reason_of(const std::string& error) {
  if (error.find("ERR_NVGPUCTRPERM") != std::string::npos) {
    return "no permission to read the GPU's performance counters (ERR_NVGPUCTRPERM): run as root, or have the administrator set the "
           "driver option NVreg_RestrictProfilingToAdminUsers=0";
  }
  return error.substr(0, kReasonBytes);
}

}  // namespace

const std::vector<std::string>& profile_metrics() {
  static const std::vector<std::string> metrics = [] {
    std::vector<std::string> names = {kDuration,    kSmThroughput, kMemoryThroughput, kOccupancy,      kDramRead,       kDramWritten,
                                      kLoadSectors, kStoreSectors, kLoadConflicts,    kStoreConflicts, kLoadWavefronts, kStoreWavefronts};
    for (const char* reason : kStallReasons) names.push_back(fmt::format("{}{}{}", kStall, reason, kStallEnd));
    return names;
  }();
  return metrics;
}

ProfileReport parse_ncu_report(std::string_view text) {
  ProfileReport report;
  report.tool = "ncu";
  KernelRows rows;
  std::string error;
  std::string warning;
  each_line(text, [&](std::string_view line) {
    constexpr std::string_view kError = "==ERROR== ";
    constexpr std::string_view kWarning = "==WARNING== ";
    if (line.starts_with(kError)) {
      if (error.empty()) error = line.substr(kError.size());
    } else if (line.starts_with(kWarning)) {
      if (warning.empty()) warning = line.substr(kWarning.size());
    } else if (line.starts_with('"') || line.starts_with("ID,")) {
      if (const auto fields = split_csv(line)) rows.take(*fields);
    }
  });
  report.metrics = std::move(rows.metrics);
  if (!report.metrics.empty()) return report;
  report.reason = !error.empty()     ? reason_of(error)
                  : rows.any()       ? "ncu gave no numbers for the kernel"
                  : !warning.empty() ? reason_of(warning)
                                     : "ncu profiled no kernel";
  return report;
}

std::vector<std::string> rejected_metrics(std::string_view text, const std::vector<std::string>& metrics) {
  std::vector<std::string> rejected;
  each_line(text, [&](std::string_view line) {
    if (!line.starts_with("==ERROR==") && !line.starts_with("==WARNING==")) return;
    for (const std::string& metric : metrics) {
      const bool known = std::find(rejected.begin(), rejected.end(), metric) != rejected.end();
      if (!known && line.find(metric) != std::string_view::npos) rejected.push_back(metric);
    }
  });
  return rejected;
}

std::optional<double> ProfileCounters::value(const char* name) const {
  if (!metrics_.is_object()) return std::nullopt;
  const auto found = metrics_.find(name);
  if (found == metrics_.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<double> ProfileCounters::sm_throughput() const { return value(kSmThroughput); }
std::optional<double> ProfileCounters::memory_throughput() const { return value(kMemoryThroughput); }

std::optional<double> ProfileCounters::dram_gbps() const {
  const auto ns = value(kDuration), read = value(kDramRead), written = value(kDramWritten);
  if (!ns || !read || !written || *ns <= 0) return std::nullopt;
  return (*read + *written) / *ns;
}

double ProfileCounters::sum_of_conflicts() const { return value(kLoadConflicts).value_or(0) + value(kStoreConflicts).value_or(0); }
double ProfileCounters::sum_of_wavefronts() const { return value(kLoadWavefronts).value_or(0) + value(kStoreWavefronts).value_or(0); }

double ProfileCounters::stall_share(std::initializer_list<std::string_view> reasons) const {
  double all = 0, these = 0;
  for (const char* reason : kStallReasons) {
    const double ratio = value(fmt::format("{}{}{}", kStall, reason, kStallEnd).c_str()).value_or(0);
    all += ratio;
    if (std::find(reasons.begin(), reasons.end(), std::string_view(reason)) != reasons.end()) these += ratio;
  }
  return all > 0 ? these / all : 0;
}

std::optional<std::string> ProfileCounters::largest_stall() const {
  std::optional<std::string> largest;
  double most = 0;
  for (const char* reason : kStallReasons) {
    const double ratio = value(fmt::format("{}{}{}", kStall, reason, kStallEnd).c_str()).value_or(0);
    if (ratio > most) {
      most = ratio;
      largest = reason;
    }
  }
  return largest;
}

std::vector<std::pair<std::string, std::string>> describe_profile(const nlohmann::json& metrics) {
  std::vector<std::pair<std::string, std::string>> rows;
  const auto value = [&](const char* name) -> std::optional<double> {
    const auto found = metrics.find(name);
    if (found == metrics.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
  };
  const auto percent = [&](const char* row, const char* name, const char* of) {
    if (const auto share = value(name)) rows.emplace_back(row, fmt::format("{:.1f} % of {}", *share, of));
  };
  if (const auto ns = value(kDuration)) rows.emplace_back("duration", fmt::format("{:.2f} us, at the profiler's pace", *ns * 1e-3));
  percent("SM throughput", kSmThroughput, "its peak");
  percent("memory throughput", kMemoryThroughput, "its peak");
  percent("achieved occupancy", kOccupancy, "the warps that an SM can hold");
  if (const auto read = value(kDramRead), written = value(kDramWritten); read && written) {
    rows.emplace_back("device memory", fmt::format("{:.3f} MB read, {:.3f} MB written", *read * 1e-6, *written * 1e-6));
  }
  const auto sectors = [&](const char* row, const char* name) {
    if (const auto each = value(name)) rows.emplace_back(row, fmt::format("{:.2f} sectors of 32 bytes a request", *each));
  };
  sectors("global loads", kLoadSectors);
  sectors("global stores", kStoreSectors);
  const auto conflicts = [&](const char* row, const char* name, const char* wavefronts) {
    const auto count = value(name);
    if (!count) return;
    const auto all = value(wavefronts);
    rows.emplace_back(row, all && *all > 0 ? fmt::format("{:.0f} bank conflicts in {:.0f} wavefronts ({:.1f} %)", *count, *all,
                                                         *count / *all * 100)
                                           : fmt::format("{:.0f} bank conflicts", *count));
  };
  conflicts("shared loads", kLoadConflicts, kLoadWavefronts);
  conflicts("shared stores", kStoreConflicts, kStoreWavefronts);
  std::vector<std::pair<double, std::string>> stalls;
  for (const auto& [name, ratio] : metrics.items()) {
    if (!name.starts_with(kStall) || !name.ends_with(kStallEnd) || !ratio.is_number()) continue;
    stalls.emplace_back(ratio.get<double>(), name.substr(kStall.size(), name.size() - kStall.size() - kStallEnd.size()));
  }
  std::sort(stalls.begin(), stalls.end(), [](const auto& x, const auto& y) { return x.first != y.first ? x.first > y.first : x.second < y.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(stalls.size(), kShownStalls) && stalls[i].first > 0; ++i) {
    text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", stalls[i].second, stalls[i].first);
  }
  if (!text.empty()) rows.emplace_back("stalled warps", text + " (for each that issues)");
  return rows;
}

}  // namespace tunebook
