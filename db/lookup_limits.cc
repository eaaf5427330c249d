#include "db/lookup_limits.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tunebook {
namespace {

struct ArchitectureRow {
  int compute_capability;
  std::int64_t shared_kib_per_sm;
  std::int64_t shared_kib_per_block_optin;
  std::int64_t registers_per_block;
  std::int64_t max_threads_per_sm;
  std::int64_t max_blocks_per_sm;
};

constexpr std::array<ArchitectureRow, 17> kArchitectures = {{
    {50, 64, 48, 65536, 2048, 32},
    {52, 96, 48, 65536, 2048, 32},
    {53, 64, 48, 32768, 2048, 32},
    {60, 64, 48, 65536, 2048, 32},
    {61, 96, 48, 65536, 2048, 32},
    {62, 64, 48, 32768, 2048, 32},
    {70, 96, 96, 65536, 2048, 32},
    {75, 64, 64, 65536, 1024, 16},
    {80, 164, 163, 65536, 2048, 32},
    {86, 100, 99, 65536, 1536, 16},
    {87, 164, 163, 65536, 1536, 16},
    {89, 100, 99, 65536, 1536, 24},
    {90, 228, 227, 65536, 2048, 32},
    {100, 228, 227, 65536, 2048, 32},
    {103, 228, 227, 65536, 2048, 32},
    {110, 228, 227, 65536, 1536, 24},
    {120, 100, 99, 65536, 1536, 24},
}};

// The system keeps one KiB of shared memory per block from compute capability 8.0 on.
constexpr int kFirstReserving = 80;
constexpr std::int64_t kMostRegistersPerThread = 255;
constexpr std::int64_t kRegistersPerWarpUnit = 256;  // registers are given to a warp in this unit

template <class Number>
void give(Number& field, Number value) {
  if (value != 0) {
    field = value;
  }
}

}  // namespace

DeviceLimits limits_of_compute_capability(int compute_capability) {
  DeviceLimits limits;
  const auto above = std::find_if(kArchitectures.begin(), kArchitectures.end(), [&](const ArchitectureRow& row) {
    return row.compute_capability > compute_capability;
  });
  if (above == kArchitectures.begin()) {
    return limits;
  }
  const ArchitectureRow& row = *std::prev(above);
  limits.shared_bytes_per_sm = row.shared_kib_per_sm * 1024;
  limits.shared_bytes_per_block_optin = row.shared_kib_per_block_optin * 1024;
  limits.reserved_shared_bytes_per_block = row.compute_capability >= kFirstReserving ? 1024 : 0;
  limits.registers_per_block = row.registers_per_block;
  limits.max_threads_per_sm = row.max_threads_per_sm;
  limits.max_blocks_per_sm = row.max_blocks_per_sm;
  return limits;
}

Device actual_device(const DeviceKey& key, const Device* tuned) {
  Device device;
  if (tuned != nullptr) {
    device = *tuned;
  } else {
    device.limits = limits_of_compute_capability(key.compute_capability);
  }
  if (!key.kind.empty()) {
    device.kind = key.kind;
  }
  if (!key.name.empty()) {
    device.name = key.name;
  }
  if (!key.instruction_set.empty()) {
    device.instruction_set = key.instruction_set;
  }
  if (!key.host_compiler.empty()) {
    device.host_compiler = key.host_compiler;
  }
  give(device.compute_capability, key.compute_capability);
  give(device.sm_count, key.sm_count);
  give(device.memory_gib, key.memory_gib);
  give(device.limits.max_threads_per_block, key.max_threads_per_block);
  give(device.limits.shared_bytes_per_block_optin, key.shared_bytes_per_block_optin);
  give(device.limits.registers_per_block, key.registers_per_block);
  return device;
}

bool same_identity(const DeviceKey& key, const Device& device) {
  const auto same_text = [](const std::string& asked, const std::string& stored) { return asked.empty() || asked == stored; };
  const auto same_number = [](std::int64_t asked, std::int64_t stored) { return asked == 0 || asked == stored; };
  return same_text(key.kind, device.kind) && same_text(key.name, device.name) &&
         same_text(key.instruction_set, device.instruction_set) && same_text(key.host_compiler, device.host_compiler) &&
         same_number(key.compute_capability, device.compute_capability) && same_number(key.sm_count, device.sm_count) &&
         same_number(key.memory_gib, device.memory_gib);
}

DeviceKey to_device_key(const Device& device) {
  DeviceKey key;
  key.kind = device.kind;
  key.name = device.name;
  key.compute_capability = device.compute_capability;
  key.instruction_set = device.instruction_set;
  key.sm_count = device.sm_count;
  key.memory_gib = device.memory_gib;
  key.host_compiler = device.host_compiler;
  key.max_threads_per_block = device.limits.max_threads_per_block;
  key.shared_bytes_per_block_optin = device.limits.shared_bytes_per_block_optin;
  key.registers_per_block = device.limits.registers_per_block;
  return key;
}

std::string block_limit_violated(const BlockNeeds& needs, const DeviceLimits& limits) {
  if (needs.threads && *needs.threads > limits.max_threads_per_block) {
    return fmt::format("block of {} threads, the device allows {}", *needs.threads, limits.max_threads_per_block);
  }
  if (needs.shared_bytes && *needs.shared_bytes > limits.shared_bytes_per_block_optin) {
    return fmt::format("{} bytes of shared memory per block, the device allows {}", *needs.shared_bytes,
                       limits.shared_bytes_per_block_optin);
  }
  if (needs.registers_per_thread && *needs.registers_per_thread > kMostRegistersPerThread) {
    return fmt::format("{} registers per thread, a thread has {} at most", *needs.registers_per_thread, kMostRegistersPerThread);
  }
  if (needs.threads && needs.registers_per_thread) {
    const std::int64_t warps = (*needs.threads + limits.warp_size - 1) / limits.warp_size;
    const std::int64_t units =
        (*needs.registers_per_thread * limits.warp_size + kRegistersPerWarpUnit - 1) / kRegistersPerWarpUnit;
    const std::int64_t registers = warps * units * kRegistersPerWarpUnit;
    if (registers > limits.registers_per_block) {
      return fmt::format("{} registers per block ({} for each of {} threads), the device allows {}", registers,
                         *needs.registers_per_thread, *needs.threads, limits.registers_per_block);
    }
  }
  return "";
}

bool block_fits(const BlockNeeds& needs, const DeviceLimits& limits) { return block_limit_violated(needs, limits).empty(); }

}  // namespace tunebook
