#include "core/device.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace tunebook {
namespace {

using nlohmann::json;

// Each SM has four partitions with an own register file and scheduler (compute capability 5 and later, 6.0 apart).
constexpr std::int64_t kSubPartitions = 4;
constexpr std::int64_t kRegisterUnit = 256;   // registers are given to a warp in these units
constexpr std::int64_t kSharedUnit = 128;     // bytes
// No count or size of a device comes near; keeps sums and products of what a file says within 64 bits.
constexpr std::int64_t kMost = std::int64_t{1} << 40;
constexpr std::int64_t kMostThreads = std::int64_t{1} << 20;  // in one direction of a block

std::int64_t divide_up(std::int64_t x, std::int64_t y) { return x / y + (x % y != 0 ? 1 : 0); }
std::int64_t round_up(std::int64_t x, std::int64_t unit) { return divide_up(x, unit) * unit; }

json identity(const Device& device) {
  return {{"kind", device.kind},
          {"name", device.name},
          {"compute_capability", device.compute_capability},
          {"instruction_set", device.instruction_set},
          {"sm_count", device.sm_count},
          {"memory_gib", device.memory_gib},
          {"host_compiler", device.host_compiler}};
}

std::int64_t read_integer(const json& object, const char* key, std::int64_t otherwise, std::string_view where, std::int64_t least) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  // An unsigned number beyond 63 bits becomes negative here and is refused with the others.
  const bool fits = found->is_number_integer() && found->get<std::int64_t>() >= least && found->get<std::int64_t>() <= kMost;
  if (!fits) {
    throw InputError(fmt::format("{}/{}: found {}, expected an integer from {} to {}", where, key,
                                 found->is_structured() ? found->type_name() : found->dump(-1, ' ', true, json::error_handler_t::replace),
                                 least, kMost));
  }
  return found->get<std::int64_t>();
}

std::string read_text(const json& object, const char* key, bool required) {
  const auto found = object.find(key);
  if (found == object.end() && !required) return "";
  if (found == object.end()) throw InputError(fmt::format("device: \"{}\" is missing", key));
  if (!found->is_string()) throw InputError(fmt::format("device/{}: found {}, expected a string", key, found->type_name()));
  return found->get<std::string>();
}

// Three extents from 1 to `most`.
void read_extents(const json& object, const char* key, std::int64_t most, std::array<std::int64_t, 3>& extents) {
  const auto found = object.find(key);
  if (found == object.end()) return;
  if (!found->is_array() || found->size() != 3) throw InputError(fmt::format("device/limits/{}: expected an array of three integers", key));
  for (std::size_t i = 0; i < 3; ++i) {
    const json& extent = (*found)[i];
    if (!extent.is_number_integer() || extent.get<std::int64_t>() < 1 || extent.get<std::int64_t>() > most) {
      throw InputError(fmt::format("device/limits/{}/{}: expected an integer from 1 to {}", key, i, most));
    }
    extents[i] = extent.get<std::int64_t>();
  }
}

struct LimitField {
  const char* key;
  std::int64_t DeviceLimits::* field;
  std::int64_t least;
};
constexpr LimitField kLimitFields[] = {
    {"max_threads_per_block", &DeviceLimits::max_threads_per_block, 1},
    {"shared_bytes_per_block", &DeviceLimits::shared_bytes_per_block, 0},
    {"shared_bytes_per_block_optin", &DeviceLimits::shared_bytes_per_block_optin, 0},
    {"shared_bytes_per_sm", &DeviceLimits::shared_bytes_per_sm, 0},
    {"reserved_shared_bytes_per_block", &DeviceLimits::reserved_shared_bytes_per_block, 0},
    {"registers_per_block", &DeviceLimits::registers_per_block, 0},
    {"registers_per_sm", &DeviceLimits::registers_per_sm, 0},
    {"max_threads_per_sm", &DeviceLimits::max_threads_per_sm, 1},
    {"max_blocks_per_sm", &DeviceLimits::max_blocks_per_sm, 1},
    {"warp_size", &DeviceLimits::warp_size, 1},
    {"l2_bytes", &DeviceLimits::l2_bytes, 0},
};

struct ResourceField {
  const char* key;
  std::int64_t Resources::* field;
};
constexpr ResourceField kResourceFields[] = {
    {"registers", &Resources::registers},
    {"shared_static_bytes", &Resources::shared_static_bytes},
    {"shared_dynamic_bytes", &Resources::shared_dynamic_bytes},
    {"spill_load_bytes", &Resources::spill_load_bytes},
    {"spill_store_bytes", &Resources::spill_store_bytes},
    {"stack_bytes", &Resources::stack_bytes},
    {"code_bytes", &Resources::code_bytes},
    {"max_threads_per_block", &Resources::max_threads_per_block},
    {"blocks_per_sm", &Resources::blocks_per_sm},
};

// Blocks that the register files hold. The check against the limit per block counts warps in whole rounds of partitions,
// as the hardware does.
std::int64_t blocks_by_registers(const DeviceLimits& limits, std::int64_t registers, std::int64_t warps) {
  if (registers > limits.registers_per_block) return 0;
  const std::int64_t per_warp = round_up(registers * limits.warp_size, kRegisterUnit);
  if (per_warp > limits.registers_per_block / round_up(warps, kSubPartitions)) return 0;
  const std::int64_t warps_per_partition = limits.registers_per_sm / kSubPartitions / per_warp;
  return warps_per_partition * kSubPartitions / warps;
}

std::int64_t blocks_by_shared_memory(const DeviceLimits& limits, const Resources& resources) {
  const std::int64_t fixed = std::max<std::int64_t>(resources.shared_static_bytes, 0);
  const std::int64_t dynamic = std::max<std::int64_t>(resources.shared_dynamic_bytes, 0);
  if (fixed > limits.shared_bytes_per_block_optin || dynamic > limits.shared_bytes_per_block_optin - fixed) return 0;
  const std::int64_t per_block = round_up(fixed + limits.reserved_shared_bytes_per_block, kSharedUnit) + round_up(dynamic, kSharedUnit);
  return per_block == 0 ? limits.max_blocks_per_sm : limits.shared_bytes_per_sm / per_block;
}

}  // namespace

std::string Device::key() const { return identity(*this).dump(-1, ' ', false, json::error_handler_t::replace); }

json Device::to_json() const {
  json object = identity(*this);
  json& out = object["limits"];
  for (const LimitField& field : kLimitFields) out[field.key] = limits.*field.field;
  out["max_block"] = limits.max_block;
  out["max_grid"] = limits.max_grid;
  return object;
}

Device Device::from_json(const json& object) {
  if (!object.is_object()) throw InputError(fmt::format("device: found {}, expected an object", object.type_name()));
  Device device;
  device.kind = read_text(object, "kind", true);
  device.name = read_text(object, "name", true);
  device.compute_capability = static_cast<int>(std::min<std::int64_t>(read_integer(object, "compute_capability", 0, "device", 0), 9999));
  device.instruction_set = read_text(object, "instruction_set", false);
  device.sm_count = read_integer(object, "sm_count", 0, "device", 0);
  device.memory_gib = read_integer(object, "memory_gib", 0, "device", 0);
  device.host_compiler = read_text(object, "host_compiler", false);
  if (const auto limits = object.find("limits"); limits != object.end()) {
    if (!limits->is_object()) throw InputError(fmt::format("device/limits: found {}, expected an object", limits->type_name()));
    for (const LimitField& field : kLimitFields) {
      device.limits.*field.field = read_integer(*limits, field.key, device.limits.*field.field, "device/limits", field.least);
    }
    read_extents(*limits, "max_block", kMostThreads, device.limits.max_block);
    read_extents(*limits, "max_grid", kMost, device.limits.max_grid);
  }
  return device;
}

json Resources::to_json() const {
  json object = json::object();
  for (const ResourceField& field : kResourceFields) {
    if (this->*field.field >= 0) object[field.key] = this->*field.field;
  }
  return object;
}

Resources Resources::from_json(const json& object) {
  if (!object.is_object()) throw InputError(fmt::format("resources: found {}, expected an object", object.type_name()));
  Resources resources;
  for (const ResourceField& field : kResourceFields) resources.*field.field = read_integer(object, field.key, -1, "resources", -1);
  return resources;
}

Resources most_needed(const Resources& x, const Resources& y) {
  Resources out;
  for (const auto field : {&Resources::registers, &Resources::shared_static_bytes, &Resources::shared_dynamic_bytes, &Resources::spill_load_bytes,
                           &Resources::spill_store_bytes, &Resources::stack_bytes}) {
    out.*field = std::max(x.*field, y.*field);
  }
  out.code_bytes = x.code_bytes < 0 || y.code_bytes < 0 ? -1 : x.code_bytes + y.code_bytes;
  for (const auto field : {&Resources::max_threads_per_block, &Resources::blocks_per_sm}) {
    out.*field = x.*field < 0 ? y.*field : y.*field < 0 ? x.*field : std::min(x.*field, y.*field);
  }
  return out;
}

std::int64_t achievable_blocks_per_sm(const DeviceLimits& limits, const Resources& resources, std::int64_t threads) {
  if (threads < 1 || threads > limits.max_threads_per_block) return 0;
  if (resources.max_threads_per_block >= 0 && threads > resources.max_threads_per_block) return 0;
  const std::int64_t warps = divide_up(threads, limits.warp_size);
  std::int64_t blocks = std::min(limits.max_blocks_per_sm, limits.max_threads_per_sm / limits.warp_size / warps);
  if (resources.registers > 0) blocks = std::min(blocks, blocks_by_registers(limits, resources.registers, warps));
  return std::min(blocks, blocks_by_shared_memory(limits, resources));
}

}  // namespace tunebook
