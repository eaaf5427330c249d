#include "core/device.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace tunebook {
namespace {

// Limits of an H200 (sm_90), from the CUDA programming guide's table of compute capabilities.
Device h200() {
  Device device;
  device.kind = "cuda";
  device.name = "NVIDIA H200";
  device.compute_capability = 90;
  device.sm_count = 132;
  device.memory_gib = 140;
  device.limits.shared_bytes_per_block_optin = 232448;
  device.limits.shared_bytes_per_sm = 233472;
  device.limits.reserved_shared_bytes_per_block = 1024;
  device.limits.l2_bytes = 62914560;
  return device;
}

std::int64_t blocks(std::int64_t threads, std::int64_t registers, std::int64_t dynamic_bytes, std::int64_t static_bytes = -1) {
  Resources resources;
  resources.registers = registers;
  resources.shared_dynamic_bytes = dynamic_bytes;
  resources.shared_static_bytes = static_bytes;
  return achievable_blocks_per_sm(h200().limits, resources, threads);
}

TEST(Device, KeyIsTheIdentityWithoutTheLimits) {
  Device device = h200();
  const std::string key = device.key();
  EXPECT_EQ(key, R"({"compute_capability":90,"host_compiler":"","instruction_set":"","kind":"cuda","memory_gib":140,"name":"NVIDIA H200","sm_count":132})");
  device.limits.max_threads_per_block = 512;
  EXPECT_EQ(device.key(), key);
  device.name = "NVIDIA H200 MIG 1g.18gb";
  EXPECT_NE(device.key(), key);
}

TEST(Device, JsonRoundTrip) {
  Device device = h200();
  device.limits.max_block = {512, 256, 32};
  const Device back = Device::from_json(device.to_json());
  EXPECT_EQ(back.key(), device.key());
  EXPECT_EQ(back.limits, device.limits);
  EXPECT_EQ(back.to_json(), device.to_json());
}

TEST(Device, FromJsonRefusesWrongFields) {
  using nlohmann::json;
  EXPECT_THROW(Device::from_json(json::array()), InputError);
  EXPECT_THROW(Device::from_json(json{{"name", "x"}}), InputError);
  const json good = h200().to_json();
  for (const auto& [path, value] : std::initializer_list<std::pair<const char*, json>>{
           {"/kind", 1}, {"/name", nullptr}, {"/sm_count", -1}, {"/sm_count", "132"}, {"/sm_count", 18446744073709551615ULL},
           {"/limits", json::array()}, {"/limits/warp_size", 0}, {"/limits/max_grid", json::array({1, 2})},
           {"/limits/max_block", json::array({1, 2, 0})}, {"/limits/l2_bytes", 1.5}}) {
    json bad = good;
    bad[json::json_pointer(path)] = value;
    EXPECT_THROW(Device::from_json(bad), InputError) << path;
  }
}

TEST(Resources, JsonLeavesOutWhatIsUnknown) {
  Resources resources;
  EXPECT_EQ(resources.to_json().dump(), "{}");
  resources.registers = 40;
  resources.spill_load_bytes = 0;
  EXPECT_EQ(resources.to_json().dump(), R"({"registers":40,"spill_load_bytes":0})");
  const Resources back = Resources::from_json(resources.to_json());
  EXPECT_EQ(back.registers, 40);
  EXPECT_EQ(back.spill_load_bytes, 0);
  EXPECT_EQ(back.blocks_per_sm, -1);
  EXPECT_THROW(Resources::from_json({{"registers", "40"}}), InputError);
}

TEST(Occupancy, KnownAnswersOnSm90) {
  EXPECT_EQ(blocks(256, 32, 0), 8);            // 2048 threads
  EXPECT_EQ(blocks(256, 128, 0), 2);           // 4096 registers a warp: 4 warps a partition
  EXPECT_EQ(blocks(256, 64, 0), 4);
  EXPECT_EQ(blocks(256, 65, 0), 3);            // 65 * 32 = 2080 -> 2304: 7 warps a partition, 28 / 8
  EXPECT_EQ(blocks(256, 255, 0), 1);
  EXPECT_EQ(blocks(1024, 64, 0), 1);
  EXPECT_EQ(blocks(1024, 65, 0), 0);           // 32 warps * 2304 > 65536 registers of a block
  EXPECT_EQ(blocks(32, 16, 0), 32);            // at most 32 blocks
  EXPECT_EQ(blocks(96, 168, 0), 4);            // 5376 a warp: 3 a partition, 12 / 3
  EXPECT_EQ(blocks(33, 16, 0), 32);            // two warps: 64 / 2
  EXPECT_EQ(blocks(1000, 16, 0), 2);           // 32 warps each
}

TEST(Occupancy, SharedMemory) {
  EXPECT_EQ(blocks(128, 32, 100 * 1024), 2);   // 101 KiB of 228 KiB with the reserved one
  EXPECT_EQ(blocks(128, 32, 113 * 1024), 2);   // exactly 2 * 114
  EXPECT_EQ(blocks(128, 32, 113 * 1024 + 1), 1);
  EXPECT_EQ(blocks(128, 32, 227 * 1024), 1);
  EXPECT_EQ(blocks(128, 32, 227 * 1024 + 1), 0);
  EXPECT_EQ(blocks(128, 32, 100 * 1024, 127 * 1024), 1);
  EXPECT_EQ(blocks(128, 32, 100 * 1024, 127 * 1024 + 1), 0);
  EXPECT_EQ(blocks(128, 32, 0, 48 * 1024), 4);
}

TEST(Occupancy, LimitsOnThreadsAndUnknownResources) {
  EXPECT_EQ(blocks(1025, 16, 0), 0);
  EXPECT_EQ(blocks(0, 16, 0), 0);
  EXPECT_EQ(blocks(512, -1, -1), 4);
  Resources bounded;
  bounded.max_threads_per_block = 256;
  EXPECT_EQ(achievable_blocks_per_sm(h200().limits, bounded, 257), 0);
  EXPECT_EQ(achievable_blocks_per_sm(h200().limits, bounded, 256), 8);
}

// More of a resource never gives more blocks.
TEST(Occupancy, IsMonotone) {
  for (std::int64_t threads = 32; threads <= 1024; threads += 96) {
    std::int64_t last = 64;
    for (std::int64_t registers = 1; registers <= 255; ++registers) {
      const std::int64_t now = blocks(threads, registers, 0);
      EXPECT_LE(now, last);
      last = now;
    }
    last = 64;
    for (std::int64_t bytes = 0; bytes <= 240000; bytes += 777) {
      const std::int64_t now = blocks(threads, 32, bytes);
      EXPECT_LE(now, last);
      last = now;
    }
  }
}

}  // namespace
}  // namespace tunebook
