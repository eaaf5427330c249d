#pragma once

#include <cstdint>
#include <filesystem>

namespace tunebook {

// What this process may use of the machine: the cores of its affinity mask and cgroup quota, and the memory that is free both
// on the machine and within its cgroup (v1 or v2). Bytes.
struct HostResources {
  int cores = 1;
  std::int64_t available_memory_bytes = 0;
};
// `root` replaces "/" in the paths of /proc and /sys/fs/cgroup.
HostResources read_host_resources(const std::filesystem::path& root = "/");

// One compile worker per core, as far as memory suffices; at least one.
int default_compile_workers(const HostResources& resources);

}  // namespace tunebook
