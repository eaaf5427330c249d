// What binds a kernel, concluded from numbers as they were measured or are plain to calculate: each claim shown by one case and refuted by one
// beside it.
#include "session/binding.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

// An H200: its limits, and what calibrate measured.
const std::vector<Ceiling> kCeilings = {{"copy", 1073741824, "cold/2", 4250, 4240, 4260},
                                        {"copy", 33554432, "cold/2", 3300, 3200, 3400},
                                        {"fma_f32", 0, "cold/2", 63800, 63700, 63900}};

Device h200() {
  Device device;
  device.kind = "cuda";
  device.name = "NVIDIA H200";
  device.compute_capability = 90;
  device.sm_count = 132;
  device.limits.shared_bytes_per_block_optin = 232448;
  device.limits.shared_bytes_per_sm = 233472;
  device.limits.reserved_shared_bytes_per_block = 1024;
  return device;
}

LaunchShape shape(std::int64_t blocks, std::int64_t threads, std::int64_t shared = 0) {
  LaunchShape launch;
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  launch.shared_bytes = shared;
  return launch;
}

// A kernel that fills the device: 2048 threads an SM.
BindingEvidence evidence(double flops, double bytes, double time_us) {
  BindingEvidence evidence;
  evidence.time_us = time_us;
  evidence.work = {flops, bytes, "f32", "ieee"};
  evidence.ceilings = kCeilings;
  evidence.method = "cold/2";
  evidence.resources.registers = 32;
  evidence.resources.shared_static_bytes = 0;
  evidence.resources.spill_load_bytes = evidence.resources.spill_store_bytes = 0;
  evidence.resources.blocks_per_sm = 8;
  evidence.shape = shape(16384, 256);
  evidence.device = h200();
  return evidence;
}

nlohmann::json counters(double sm, double memory, double conflicts = 0, double wavefronts = 0, const std::string& stall = "long_scoreboard") {
  return {{"sm__throughput.avg.pct_of_peak_sustained_elapsed", sm},
          {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", memory},
          {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", conflicts},
          {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", wavefronts},
          {"smsp__average_warps_issue_stalled_" + stall + "_per_issue_active.ratio", 8.0},
          {"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", 1.0}};
}

Binding::Kind kind(const BindingEvidence& evidence) { return diagnose(evidence).kind; }
using Kind = Binding::Kind;

// 8192 cubed in f32: the winner at 52.7 TFLOP/s, the naive rung at 5.3.
TEST(Binding, Arithmetic) {
  const double flops = 2.0 * 8192 * 8192 * 8192, bytes = 3.0 * 4 * 8192 * 8192;
  const Binding winner = diagnose(evidence(flops, bytes, 20860));
  EXPECT_EQ(winner.kind, Kind::arithmetic);
  ASSERT_TRUE(winner.percent);
  EXPECT_NEAR(*winner.percent, 82.6, 0.2);
  EXPECT_NE(winner.reason.find("83 % of what the FMA units reach"), std::string::npos) << winner.reason;
  EXPECT_NE(kind(evidence(flops, bytes, 207000)), Kind::arithmetic);
}

// 2^29 f32 summed in 0.484 ms, and with a third of that rate.
TEST(Binding, Bandwidth) {
  EXPECT_EQ(kind(evidence(536870912, 2147483648, 484)), Kind::bandwidth);
  EXPECT_EQ(kind(evidence(536870912, 2147483648, 1500)), Kind::unknown);
}

TEST(Binding, NothingIsClaimedWithoutACeiling) {
  BindingEvidence unknown = evidence(1e12, 1e9, 20860);
  unknown.ceilings = {};
  const Binding binding = diagnose(unknown);
  EXPECT_EQ(binding.kind, Kind::unknown);
  EXPECT_FALSE(binding.percent);
  EXPECT_NE(binding.reason.find("tunebook calibrate"), std::string::npos);
  unknown.work = {};
  EXPECT_NE(diagnose(unknown).reason.find("\"work\""), std::string::npos);
  // Another method's ceilings are none.
  BindingEvidence warm = evidence(1e12, 1e9, 20860);
  warm.method = "warm/2";
  EXPECT_EQ(kind(warm), Kind::unknown);
}

TEST(Binding, Spills) {
  BindingEvidence spilling = evidence(1e12, 1e9, 60000);
  spilling.resources.spill_store_bytes = 228;
  spilling.resources.spill_load_bytes = 460;
  const Binding binding = diagnose(spilling);
  EXPECT_EQ(binding.kind, Kind::spills);
  EXPECT_NE(binding.reason.find("228 bytes"), std::string::npos) << binding.reason;
  spilling.resources.spill_store_bytes = spilling.resources.spill_load_bytes = 8;
  EXPECT_EQ(kind(spilling), Kind::unknown);
  // Some spilled, and the arithmetic is near its peak all the same.
  spilling.resources.spill_store_bytes = 228;
  spilling.time_us = 20000;
  EXPECT_EQ(kind(spilling), Kind::arithmetic);
}

TEST(Binding, Occupancy) {
  BindingEvidence held = evidence(1e12, 1e9, 60000);
  held.shape = shape(16384, 64, 98304);
  held.resources.shared_dynamic_bytes = 98304;
  held.resources.blocks_per_sm = 2;
  Binding binding = diagnose(held);
  EXPECT_EQ(binding.kind, Kind::occupancy);
  EXPECT_NE(binding.reason.find("4 of an SM's 64 warps: 98304 bytes of shared memory a block"), std::string::npos) << binding.reason;
  held.shape = shape(16384, 128);
  held.resources.shared_dynamic_bytes = 0;
  held.resources.registers = 255;
  held.resources.blocks_per_sm = 2;
  binding = diagnose(held);
  EXPECT_EQ(binding.kind, Kind::occupancy);
  EXPECT_NE(binding.reason.find("255 registers"), std::string::npos) << binding.reason;
  // Half of the warps are no reason.
  held.resources.registers = 64;
  held.resources.blocks_per_sm = 8;
  EXPECT_EQ(kind(held), Kind::unknown);
}

TEST(Binding, LatencyOfFewBlocks) {
  BindingEvidence few = evidence(1e10, 1e8, 2000);
  few.shape = shape(16, 256);
  const Binding binding = diagnose(few);
  EXPECT_EQ(binding.kind, Kind::latency);
  EXPECT_NE(binding.reason.find("16 blocks for 132 SMs"), std::string::npos) << binding.reason;
  few.shape = shape(264, 64);
  EXPECT_EQ(kind(few), Kind::latency);
  few.shape = shape(4096, 256);
  EXPECT_EQ(kind(few), Kind::unknown);
  few.work.bytes = 1e6;
  few.work.flops = 1e6;
  few.time_us = 4;
  EXPECT_EQ(kind(few), Kind::latency);
}

TEST(Binding, WhatCountersTell) {
  BindingEvidence counted = evidence(1e10, 1e8, 2000);
  EXPECT_EQ(kind(counted), Kind::unknown);
  counted.counters = counters(12, 20);
  const Binding waits = diagnose(counted);
  EXPECT_EQ(waits.kind, Kind::latency);
  EXPECT_NE(waits.reason.find("long_scoreboard"), std::string::npos) << waits.reason;
  counted.counters = counters(30, 92);
  EXPECT_EQ(kind(counted), Kind::bandwidth);
  counted.counters["gpu__time_duration.sum"] = 1e6;
  counted.counters["dram__bytes_read.sum"] = 2e9;
  counted.counters["dram__bytes_write.sum"] = 1e9;
  EXPECT_NE(diagnose(counted).reason.find("device memory moves 3000 GB/s"), std::string::npos);
  counted.counters["dram__bytes_read.sum"] = 1e8;
  counted.counters["dram__bytes_write.sum"] = 1e8;
  EXPECT_NE(diagnose(counted).reason.find("caches or shared memory, not device memory with its 200 GB/s"), std::string::npos);
  counted.counters = counters(92, 30);
  EXPECT_EQ(kind(counted), Kind::arithmetic);
  counted.counters = nlohmann::json::object();
  EXPECT_EQ(kind(counted), Kind::unknown);
}

TEST(Binding, BankConflicts) {
  BindingEvidence counted = evidence(1e10, 1e8, 2000);
  counted.counters = counters(20, 95, 31e6, 32e6, "short_scoreboard");
  const Binding binding = diagnose(counted);
  EXPECT_EQ(binding.kind, Kind::bank_conflicts);
  EXPECT_NE(binding.reason.find("97 % of 32000000"), std::string::npos) << binding.reason;
  // The same without conflicts; and conflicts that nobody waits for.
  counted.counters = counters(20, 95, 0, 1e6, "short_scoreboard");
  EXPECT_EQ(kind(counted), Kind::bandwidth);
  counted.counters = counters(20, 30, 31e3, 32e3, "long_scoreboard");
  EXPECT_EQ(kind(counted), Kind::latency);
}

// The kernels of tests/data/binding as they ran on an H200, without its counters.
TEST(Binding, PlantedKernels) {
  const double flops = 2.0 * 16777216 * 2048, bytes = 8.0 * 16777216;
  const auto chain = [&](double time_us, std::int64_t blocks, std::int64_t threads, std::int64_t registers, std::int64_t blocks_per_sm) {
    BindingEvidence rung = evidence(flops, bytes, time_us);
    rung.shape = shape(blocks, threads);
    rung.resources.registers = registers;
    rung.resources.blocks_per_sm = blocks_per_sm;
    return rung;
  };
  EXPECT_EQ(kind(chain(9734, 16, 256, 18, 8)), Kind::latency);
  BindingEvidence little_room = chain(5649, 262144, 64, 16, 2);
  little_room.resources.shared_dynamic_bytes = 98304;
  EXPECT_EQ(kind(little_room), Kind::occupancy);
  EXPECT_EQ(kind(chain(1441, 262144, 64, 16, 32)), Kind::arithmetic);
  BindingEvidence few_registers = chain(28429, 1024, 256, 32, 8);
  few_registers.resources.spill_store_bytes = 1392;
  few_registers.resources.spill_load_bytes = 1300;
  EXPECT_EQ(kind(few_registers), Kind::spills);
  EXPECT_EQ(kind(chain(1140, 1024, 256, 141, 1)), Kind::arithmetic);
  EXPECT_EQ(kind(chain(1146, 16384, 256, 18, 8)), Kind::arithmetic);
}

// Nothing of a GPU is said of another device.
TEST(Binding, OtherDevices) {
  BindingEvidence cpu = evidence(1e12, 1e9, 60000);
  cpu.device.kind = "cpu";
  cpu.resources.spill_store_bytes = 1000;
  cpu.shape = shape(1, 32);
  EXPECT_EQ(kind(cpu), Kind::unknown);
  cpu.shape.reset();
  cpu.device.kind = "replay";
  cpu.ceilings = {};
  EXPECT_EQ(kind(cpu), Kind::unknown);
}

}  // namespace
}  // namespace tunebook
