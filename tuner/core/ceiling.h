#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tunebook {

// One measured limit of a device.
struct Ceiling {
  // Bandwidth: "copy", "read", "write". Arithmetic: "fma_T" of the ordinary units (f32, f64, f16 in pairs), "mma_T" of the tensor
  // cores by mma.sync (f16, bf16 accumulated in f32; tf32; f64), which every GPU with tensor cores has. On compute capability 9.0
  // mma.sync reaches only 60-65 % of what wgmma does.
  std::string what;
  std::int64_t bytes = 0;  // bandwidth: moved by one launch, reads and writes together; 0 for arithmetic
  std::string method;      // how the time was taken, "cold/2"
  double rate = 0;         // GB/s or GFLOP/s
  double low = 0, high = 0;  // 95 % interval of the rate
  friend bool operator==(const Ceiling&, const Ceiling&) = default;
};

// What one launch must do, and which units may do it. 0: not known.
struct Workload {
  double flops = 0;
  double bytes = 0;
  std::string dtype;  // "f32"; "" if the problem has none
  std::string math;   // the problem's categorical dimension `math`: "ieee" means the FMA units; "" if it has none
};

// A ceiling applied to one workload.
struct AppliedCeiling {
  std::string what;     // as Ceiling::what
  double rate = 0;      // GB/s or GFLOP/s
  double floor_us = 0;  // work / rate
  bool bandwidth = false;
  double percent(double time_us) const { return 100 * floor_us / time_us; }
};

// The largest of copy, read and write at `bytes`, among ceilings of `method`. Between two measured sizes b1 < bytes < b2 the rate is
// r1 + (r2 - r1) * log(bytes / b1) / log(b2 / b1); outside them that of the nearest. Nothing if none was measured.
std::optional<AppliedCeiling> bandwidth_ceiling(std::span<const Ceiling> ceilings, double bytes, std::string_view method);

// The largest rate among the units that may do the arithmetic:
//   f32: fma_f32; f64: fma_f64, and mma_f64, which rounds as it does; f16, bf16: fma_f32, fma_f16 (f16 only), mma_f16 or mma_bf16;
//   with math = "ieee" no tensor cores; with any other `math` tensor cores alone (f32: mma_tf32).
// A problem without dtype is taken for f32. Nothing for other types or if none was measured.
std::optional<AppliedCeiling> arithmetic_ceiling(std::span<const Ceiling> ceilings, const Workload& work, std::string_view method);

// Which of the two bounds is the larger: bytes / bandwidth or flops / peak. Nothing if neither is known, or if the bandwidth at this
// method is not, although the workload moves bytes.
std::optional<AppliedCeiling> binding_ceiling(std::span<const Ceiling> ceilings, const Workload& work, std::string_view method);

// A time below this share of the floor is taken for impossible: ceilings are measured too, and clocks move.
inline constexpr double kFloorShare = 0.9;
// On the cpu device: a calibration beside other programs, which share caches, memory and cores, reads low by up to a half.
inline constexpr double kCpuFloorShare = 0.5;
// What times of very short kernels may be wrong by: the launch is subtracted from them, and clocks tick.
inline constexpr double kFloorSlackUs = 1.0;

// The time that no right kernel goes below. More cautious than binding_ceiling(), since it condemns: of each ceiling the upper end of
// its interval, between two sizes the larger rate; tensor cores wherever `math` does not exclude them, with twice what mma.sync
// reaches where wgmma may be used (all types but f64), and of all types if the problem has none.
std::optional<AppliedCeiling> physical_floor(std::span<const Ceiling> ceilings, const Workload& work, std::string_view method);

// What is wrong with a time below `share` of the physical floor, less kFloorSlackUs: it names the time, the floor and the ceiling.
// Empty if the time is possible or no floor is known.
std::string floor_violation(std::span<const Ceiling> ceilings, const Workload& work, std::string_view method, double time_us, double share);

// "what a copy of this size reaches", "what the FMA units reach in f32", "what tensor cores reach by mma.sync in f16".
std::string ceiling_phrase(std::string_view what);

}  // namespace tunebook
