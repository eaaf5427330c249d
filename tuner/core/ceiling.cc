#include "core/ceiling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tunebook {
namespace {

constexpr std::array<std::string_view, 3> kTransfers = {"copy", "read", "write"};

// wgmma reaches 1.5 to 1.7 times what mma.sync does on compute capability 9.0.
constexpr double kWgmmaHeadroom = 2;

enum class Caution { expected, condemning };

double rate_of(const Ceiling& ceiling, Caution caution) { return caution == Caution::expected ? ceiling.rate : std::max(ceiling.rate, ceiling.high); }

// GB/s are 1e3 bytes/us, GFLOP/s are 1e3 operations/us.
AppliedCeiling applied(std::string_view what, double rate, double amount, bool bandwidth) {
  return {std::string(what), rate, amount / (rate * 1e3), bandwidth};
}

void keep_larger(std::optional<AppliedCeiling>& best, AppliedCeiling other) {
  if (!best || other.rate > best->rate) best = std::move(other);
}

// The rate of one kind of transfer; 0 if it was not measured.
double transfer_rate(std::span<const Ceiling> ceilings, std::string_view what, double bytes, std::string_view method, Caution caution) {
  const Ceiling* below = nullptr;  // the largest size <= bytes
  const Ceiling* above = nullptr;  // the smallest size >= bytes
  for (const Ceiling& ceiling : ceilings) {
    if (ceiling.what != what || ceiling.method != method || ceiling.bytes <= 0 || !(ceiling.rate > 0)) continue;
    const auto size = static_cast<double>(ceiling.bytes);
    if (size <= bytes && (below == nullptr || ceiling.bytes > below->bytes)) below = &ceiling;
    if (size >= bytes && (above == nullptr || ceiling.bytes < above->bytes)) above = &ceiling;
  }
  if (below == nullptr && above == nullptr) return 0;
  if (below == nullptr) return rate_of(*above, caution);
  if (above == nullptr) return rate_of(*below, caution);
  const double low = rate_of(*below, caution), high = rate_of(*above, caution);
  if (caution == Caution::condemning) return std::max(low, high);
  if (below->bytes == above->bytes) return low;
  const double b1 = static_cast<double>(below->bytes), b2 = static_cast<double>(above->bytes);
  return low + (high - low) * std::log(bytes / b1) / std::log(b2 / b1);
}

std::optional<AppliedCeiling> transfer_ceiling(std::span<const Ceiling> ceilings, double bytes, std::string_view method, Caution caution) {
  std::optional<AppliedCeiling> best;
  for (const std::string_view what : kTransfers) {
    const double rate = transfer_rate(ceilings, what, bytes, method, caution);
    if (rate > 0) keep_larger(best, applied(what, rate, bytes, true));
  }
  return best;
}

// Names of the ceilings that bound a workload's arithmetic.
std::vector<std::string_view> expected_units(const Workload& work) {
  const std::string_view dtype = work.dtype.empty() ? std::string_view("f32") : std::string_view(work.dtype);
  const bool fma = work.math.empty() || work.math == "ieee";
  const bool tensor = work.math != "ieee";
  std::vector<std::string_view> units;
  if (dtype == "f32") {
    if (fma) return {"fma_f32"};
    return {"mma_tf32"};
  }
  if (dtype == "f64") {
    if (fma) units.push_back("fma_f64");
    if (tensor) units.push_back("mma_f64");
    return units;
  }
  if (dtype != "f16" && dtype != "bf16") return {};
  if (fma) units.push_back("fma_f32");
  if (fma && dtype == "f16") units.push_back("fma_f16");
  if (tensor) units.push_back(dtype == "f16" ? "mma_f16" : "mma_bf16");
  return units;
}

// The same, of everything that could give a right result.
std::vector<std::string_view> possible_units(const Workload& work) {
  const bool tensor = work.math != "ieee";
  if (work.dtype.empty()) {
    if (!tensor) return {"fma_f32", "fma_f16", "fma_f64"};
    return {"fma_f32", "fma_f16", "fma_f64", "mma_f16", "mma_bf16", "mma_tf32", "mma_f64"};
  }
  // Several products of lower precision, or a generous tolerance, make tensor cores an f32 unit.
  if (work.dtype == "f32") return tensor ? std::vector<std::string_view>{"fma_f32", "mma_tf32", "mma_bf16", "mma_f16"} : std::vector<std::string_view>{"fma_f32"};
  if (work.dtype == "f64") return tensor ? std::vector<std::string_view>{"fma_f64", "mma_f64"} : std::vector<std::string_view>{"fma_f64"};
  if (work.dtype != "f16" && work.dtype != "bf16") return {};
  if (!tensor) return {"fma_f32", "fma_f16"};
  return {"fma_f32", "fma_f16", "mma_f16", "mma_bf16"};
}

std::optional<AppliedCeiling> unit_ceiling(std::span<const Ceiling> ceilings, const std::vector<std::string_view>& units, double flops,
                                           std::string_view method, Caution caution) {
  std::optional<AppliedCeiling> best;
  for (const Ceiling& ceiling : ceilings) {
    if (ceiling.method != method || !(ceiling.rate > 0) || std::find(units.begin(), units.end(), ceiling.what) == units.end()) continue;
    const bool may_be_exceeded = ceiling.what.starts_with("mma_") && ceiling.what != "mma_f64";
    const double headroom = caution == Caution::condemning && may_be_exceeded ? kWgmmaHeadroom : 1;
    keep_larger(best, applied(ceiling.what, headroom * rate_of(ceiling, caution), flops, false));
  }
  return best;
}

std::optional<AppliedCeiling> longer(std::optional<AppliedCeiling> x, std::optional<AppliedCeiling> y) {
  if (!x || (y && y->floor_us > x->floor_us)) return y;
  return x;
}

}  // namespace

std::optional<AppliedCeiling> bandwidth_ceiling(std::span<const Ceiling> ceilings, double bytes, std::string_view method) {
  return transfer_ceiling(ceilings, bytes, method, Caution::expected);
}

std::optional<AppliedCeiling> arithmetic_ceiling(std::span<const Ceiling> ceilings, const Workload& work, std::string_view method) {
  return unit_ceiling(ceilings, expected_units(work), work.flops, method, Caution::expected);
}

std::optional<AppliedCeiling> binding_ceiling(std::span<const Ceiling> ceilings, const Workload& work, std::string_view method) {
  std::optional<AppliedCeiling> transfer;
  if (work.bytes > 0) {
    transfer = bandwidth_ceiling(ceilings, work.bytes, method);
    if (!transfer) return std::nullopt;
  }
  if (!(work.flops > 0)) return transfer;
  return longer(std::move(transfer), arithmetic_ceiling(ceilings, work, method));
}

std::optional<AppliedCeiling> physical_floor(std::span<const Ceiling> ceilings, const Workload& work, std::string_view method) {
  std::optional<AppliedCeiling> transfer, arithmetic;
  if (work.bytes > 0) transfer = transfer_ceiling(ceilings, work.bytes, method, Caution::condemning);
  if (work.flops > 0) arithmetic = unit_ceiling(ceilings, possible_units(work), work.flops, method, Caution::condemning);
  return longer(std::move(transfer), std::move(arithmetic));
}

std::string floor_violation(std::span<const Ceiling> ceilings, const Workload& work, std::string_view method, double time_us, double share) {
  const std::optional<AppliedCeiling> floor = physical_floor(ceilings, work, method);
  if (!floor || !(time_us + kFloorSlackUs < share * floor->floor_us)) return {};
  return fmt::format("faster than the device can be: {:.3f} us, but {:.6g} {} take at least {:.3f} us at {:.5g} {} ({}, {}); either the kernel "
                     "leaves out work, or the spec's \"work\" asks for more than it must do",
                     time_us, floor->bandwidth ? work.bytes : work.flops, floor->bandwidth ? "bytes" : "operations", floor->floor_us,
                     floor->rate, floor->bandwidth ? "GB/s" : "GFLOP/s", floor->what, method);
}

std::string ceiling_phrase(std::string_view what) {
  if (what == "read") return "what reading this size reaches";
  if (what == "write") return "what writing this size reaches";
  if (what.starts_with("fma_")) return fmt::format("what the FMA units reach in {}", what.substr(4));
  if (what.starts_with("mma_")) return fmt::format("what tensor cores reach by mma.sync in {}", what.substr(4));
  return fmt::format("what a {} of this size reaches", what);
}

}  // namespace tunebook
