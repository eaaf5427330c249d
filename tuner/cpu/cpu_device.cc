#include "cpu/cpu_device.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include <sched.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/error.h"

namespace tunebook {
namespace {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(':');
    const std::size_t start = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return "unknown CPU";
}

}  // namespace

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // More than 1024 processors do not fit cpu_set_t; the online count is then near enough.
  if (::sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<int>(online) : 1;
}

std::size_t l2_cache_bytes() {
  const long bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : std::size_t{1} << 20;
}

Device describe_cpu_device(const HostCompiler& compiler) {
  Device device;
  device.kind = "cpu";
  device.name = cpu_model();
  device.instruction_set = compiler.instruction_set;
  device.sm_count = available_cores();
  device.host_compiler = compiler.identity;
  device.limits.shared_bytes_per_block = 48 * 1024;
  device.limits.shared_bytes_per_block_optin = 99 * 1024;
  device.limits.shared_bytes_per_sm = 100 * 1024;
  device.limits.reserved_shared_bytes_per_block = 1024;
  device.limits.l2_bytes = static_cast<std::int64_t>(l2_cache_bytes()) * device.sm_count;
  return device;
}

std::filesystem::path device_header_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = program.parent_path().parent_path() / "share" / "tunebook" / "cpu";
  if (error || !std::filesystem::exists(folder / "tunebook_cpu.h", error)) {
    throw EnvironmentError(
        fmt::format("the cpu device's headers are not in {}; install Tunebook completely", folder.string()));
  }
  return folder;
}

}  // namespace tunebook
