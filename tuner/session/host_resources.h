#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

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

// Up to how many MiB of address space each of so many compile processes, of `threads` compiles at once, may use. Far above what a
// compile needs, but a compiler that grows without end ends before the machine's memory does.
std::int64_t compile_address_space_mib(const HostResources& resources, int workers, int threads);

// How many processes the kernel has killed for want of memory since the machine started, in whatever group; nothing if it does not tell.
std::optional<std::int64_t> out_of_memory_kills(const std::filesystem::path& root = "/");

}  // namespace tunebook
