#include "session/host_resources.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include <sched.h>

namespace tunebook {
namespace {

namespace fs = std::filesystem;

// NVRTC or a host compiler on a heavily unrolled kernel stays below this.
constexpr std::int64_t kBytesPerCompileWorker = std::int64_t{3} << 29;  // 1.5 GiB
// Address space is not memory: libraries, thread stacks and reserves count in full. The real compilers end at a quarter of this.
constexpr std::int64_t kLeastAddressSpace = std::int64_t{6} << 30;
constexpr std::int64_t kAddressSpacePerThread = std::int64_t{2} << 30;
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

int affinity_cores() {
  // Machines with more than 1024 cores need a larger mask than cpu_set_t.
  for (std::size_t cores = CPU_SETSIZE; cores <= (std::size_t{1} << 16); cores *= 2) {
    cpu_set_t* mask = CPU_ALLOC(cores);
    if (mask == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(cores);
    const bool known = sched_getaffinity(0, bytes, mask) == 0;
    const int count = known ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (known) return std::max(count, 1);
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// The number in a file of one number; nothing if there is none ("max").
std::optional<std::int64_t> read_number(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// The value after `key` in a file of lines "key value" or "key: value kB".
std::optional<std::int64_t> read_entry(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string found;
    std::int64_t value = 0;
    if (words >> found >> value && found == key) return value;
  }
  return std::nullopt;
}

// The path of our group in the hierarchy with this controller; for v2, `controller` is empty.
std::string group_path(const fs::path& root, const std::string& controller) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:memory,hugetlb:/path", v2: "0::/path"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool found = controller.empty() ? controllers == ",," : controllers.find("," + controller + ",") != std::string::npos;
    if (found) return line.substr(second + 1);
  }
  return "/";
}

// Calls `visit` for our group's folder and those above it: a limit of any of them counts. Inside a container the path may be
// one of the host's that does not exist here; the mount's own folder is then our group.
template <typename Visit>
void visit_groups(const fs::path& mount, const std::string& path, Visit visit) {
  for (fs::path relative = fs::path(path).relative_path(); !relative.empty(); relative = relative.parent_path()) {
    visit(mount / relative);
  }
  visit(mount);
}

std::int64_t group_memory(const fs::path& root) {
  std::int64_t available = kUnlimited;
  const auto consider = [&](const fs::path& limit_file, const fs::path& usage_file, const fs::path& statistics,
                            const char* cache_key) {
    const auto limit = read_number(limit_file);
    const auto usage = read_number(usage_file);
    if (!limit || !usage || *limit < 0) return;
    const std::int64_t cache = read_entry(statistics, cache_key).value_or(0);  // given back when it is needed
    available = std::min(available, std::max<std::int64_t>(0, *limit - *usage + cache));
  };
  const fs::path mount = root / "sys/fs/cgroup";
  visit_groups(mount, group_path(root, ""), [&](const fs::path& folder) {
    consider(folder / "memory.max", folder / "memory.current", folder / "memory.stat", "inactive_file");
  });
  visit_groups(mount / "memory", group_path(root, "memory"), [&](const fs::path& folder) {
    consider(folder / "memory.limit_in_bytes", folder / "memory.usage_in_bytes", folder / "memory.stat",
             "total_inactive_file");
  });
  return available;
}

int quota_cores(const fs::path& root) {
  double cores = std::numeric_limits<int>::max();
  const auto consider = [&](double quota, double period) {
    if (quota > 0 && period > 0) cores = std::min(cores, quota / period);
  };
  const fs::path mount = root / "sys/fs/cgroup";
  visit_groups(mount, group_path(root, ""), [&](const fs::path& folder) {
    std::ifstream file(folder / "cpu.max");  // "max 100000" or "200000 100000"
    double quota = 0;
    double period = 0;
    if (file >> quota >> period) consider(quota, period);
  });
  visit_groups(mount / "cpu", group_path(root, "cpu"), [&](const fs::path& folder) {
    consider(static_cast<double>(read_number(folder / "cpu.cfs_quota_us").value_or(-1)),
             static_cast<double>(read_number(folder / "cpu.cfs_period_us").value_or(-1)));
  });
  return std::max(1, static_cast<int>(cores + 0.5));
}

}  // namespace

HostResources read_host_resources(const fs::path& root) {
  HostResources result;
  result.cores = std::min(affinity_cores(), quota_cores(root));
  const auto available_kib = read_entry(root / "proc/meminfo", "MemAvailable:");
  const std::int64_t machine = available_kib ? *available_kib * 1024 : kUnlimited;
  result.available_memory_bytes = std::min(machine, group_memory(root));
  return result;
}

int default_compile_workers(const HostResources& resources) {
  const std::int64_t by_memory = resources.available_memory_bytes / kBytesPerCompileWorker;
  return static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(resources.cores, by_memory)));
}

std::int64_t compile_address_space_mib(const HostResources& resources, int workers, int threads) {
  // Rarely do all compiles grow at once: each may take twice its share.
  const std::int64_t share = resources.available_memory_bytes / std::max(workers, 1);
  const std::int64_t least = kLeastAddressSpace + kAddressSpacePerThread * (std::max(threads, 1) - 1);
  const std::int64_t doubled = share > kUnlimited / 2 ? kUnlimited : 2 * share;
  return std::max(least, std::min(doubled, resources.available_memory_bytes)) >> 20;
}

std::optional<std::int64_t> out_of_memory_kills(const fs::path& root) { return read_entry(root / "proc/vmstat", "oom_kill"); }

}  // namespace tunebook
