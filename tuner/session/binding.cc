#include "session/binding.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "session/profiler_report.h"

namespace tunebook {
namespace {

// Above 60 % of a unit's peak the unit is what binds, below 60 % of all of them latency: the rule of Nsight Compute's "speed of light".
constexpr double kCeilingShare = 0.6;
// Of an SM's warps: with fewer there is seldom one ready to issue, unless each has much independent work (then it is near a ceiling).
constexpr double kOccupancyShare = 0.25;
// Eight registers stored and loaded once: less is noise of the compiler's.
constexpr std::int64_t kSpillBytes = 64;
// A launch, its first loads and its drain take some microseconds whatever the work (the empty kernel itself is subtracted).
constexpr double kStartAndDrainUs = 6;
// Conflicts among the passes over shared memory: a third more passes than needed.
constexpr double kConflictShare = 0.25;
// Whether those passes matter: shared memory and its queues are behind this share of the waits, or the data pipe is that busy.
constexpr double kConflictStallShare = 0.25;

std::int64_t blocks_of(const LaunchShape& shape) { return shape.grid[0] * shape.grid[1] * shape.grid[2]; }
std::int64_t warps_of(const LaunchShape& shape, const DeviceLimits& limits) { return (shape.threads() + limits.warp_size - 1) / limits.warp_size; }

class Diagnosis {
 public:
  explicit Diagnosis(const BindingEvidence& evidence) : evidence_(evidence), counters_(evidence.counters) {
    if (evidence.time_us > 0) ceiling_ = binding_ceiling(evidence.ceilings, evidence.work, evidence.method);
  }

  Binding conclude() const {
    for (const auto step : {&Diagnosis::bank_conflicts, &Diagnosis::ceiling, &Diagnosis::busy_units, &Diagnosis::spills, &Diagnosis::occupancy,
                            &Diagnosis::few_warps, &Diagnosis::stalls}) {
      if (std::optional<Binding> found = (this->*step)()) return with_percent(std::move(*found));
    }
    return with_percent(nothing());
  }

 private:
  using Kind = Binding::Kind;

  bool on_gpu() const { return evidence_.device.kind == "cuda"; }
  Binding with_percent(Binding binding) const {
    if (ceiling_) binding.percent = ceiling_->percent(evidence_.time_us);
    return binding;
  }
  std::string share_text() const {
    return ceiling_ ? fmt::format("{:.0f} % of {}", ceiling_->percent(evidence_.time_us), ceiling_phrase(ceiling_->what)) : "no ceiling is known";
  }

  std::optional<Binding> bank_conflicts() const {
    const double conflicts = counters_.sum_of_conflicts(), wavefronts = counters_.sum_of_wavefronts();
    if (wavefronts <= 0 || conflicts < kConflictShare * wavefronts) return std::nullopt;
    const double waiting = counters_.stall_share({"short_scoreboard", "mio_throttle"});
    const double pipe = counters_.memory_throughput().value_or(0);
    if (waiting < kConflictStallShare && pipe < 100 * kCeilingShare) return std::nullopt;
    return Binding{Kind::bank_conflicts,
                   fmt::format("{:.0f} % of {:.0f} passes over shared memory are bank conflicts; {:.0f} % of the waits are for it", 100 * conflicts / wavefronts,
                               wavefronts, 100 * waiting),
                   {}};
  }

  std::optional<Binding> ceiling() const {
    if (!ceiling_ || ceiling_->percent(evidence_.time_us) < 100 * kCeilingShare) return std::nullopt;
    return Binding{ceiling_->bandwidth ? Kind::bandwidth : Kind::arithmetic, share_text(), {}};
  }

  std::optional<Binding> busy_units() const {
    const double sm = counters_.sm_throughput().value_or(0), memory = counters_.memory_throughput().value_or(0);
    if (std::max(sm, memory) < 100 * kCeilingShare) return std::nullopt;
    if (sm >= memory) return Binding{Kind::arithmetic, fmt::format("the SMs' pipes are at {:.0f} % of their peak (counted)", sm), {}};
    return Binding{Kind::bandwidth, fmt::format("{} at {:.0f} % of the peak (counted)", memory_part(), memory), {}};
  }

  // Which part of the memory system it is that is busy: device memory, if it moves most of what a copy does.
  std::string memory_part() const {
    const std::optional<double> dram = counters_.dram_gbps();
    double copy = 0;
    for (const Ceiling& ceiling : evidence_.ceilings) {
      if (ceiling.method == evidence_.method && (ceiling.what == "copy" || ceiling.what == "read")) copy = std::max(copy, ceiling.rate);
    }
    if (!dram || copy <= 0) return "a part of the memory system is";
    if (*dram >= kCeilingShare * copy) return fmt::format("device memory moves {:.0f} GB/s; the memory system is", *dram);
    return fmt::format("caches or shared memory, not device memory with its {:.0f} GB/s, are", *dram);
  }

  std::optional<Binding> spills() const {
    const Resources& r = evidence_.resources;
    const std::int64_t moved = std::max<std::int64_t>(r.spill_load_bytes, 0) + std::max<std::int64_t>(r.spill_store_bytes, 0);
    if (!on_gpu() || moved < kSpillBytes) return std::nullopt;
    return Binding{Kind::spills,
                   fmt::format("{} bytes of registers are stored and {} loaded in the code of a thread, with {} registers", r.spill_store_bytes,
                               r.spill_load_bytes, r.registers),
                   {}};
  }

  // Of an SM; only for a launch that has enough blocks to fill it.
  std::optional<Binding> occupancy() const {
    const Resources& r = evidence_.resources;
    const DeviceLimits& limits = evidence_.device.limits;
    if (!on_gpu() || !evidence_.shape || r.blocks_per_sm < 1 || evidence_.device.sm_count < 1) return std::nullopt;
    const std::int64_t held = r.blocks_per_sm * warps_of(*evidence_.shape, limits);
    const std::int64_t most = limits.max_threads_per_sm / limits.warp_size;
    const bool more_blocks = blocks_of(*evidence_.shape) > r.blocks_per_sm * evidence_.device.sm_count;
    if (!more_blocks || static_cast<double>(held) >= kOccupancyShare * static_cast<double>(most)) return std::nullopt;
    return Binding{Kind::occupancy, fmt::format("{} of an SM's {} warps: {}", held, most, limiter()), {}};
  }

  // What would let the most further blocks in if there were none of it.
  std::string limiter() const {
    const Resources& r = evidence_.resources;
    const DeviceLimits& limits = evidence_.device.limits;
    const std::int64_t threads = evidence_.shape->threads();
    Resources without_registers = r, without_shared = r;
    without_registers.registers = -1;
    without_shared.shared_static_bytes = without_shared.shared_dynamic_bytes = -1;
    const std::int64_t by_registers = achievable_blocks_per_sm(limits, without_shared, threads);
    const std::int64_t by_shared = achievable_blocks_per_sm(limits, without_registers, threads);
    const std::string blocks = fmt::format("{} block{} of {} threads", r.blocks_per_sm, r.blocks_per_sm == 1 ? "" : "s", threads);
    if (by_shared < by_registers) {
      return fmt::format("{} bytes of shared memory a block let {} in", std::max<std::int64_t>(r.shared_static_bytes, 0) + std::max<std::int64_t>(r.shared_dynamic_bytes, 0),
                         blocks);
    }
    if (by_registers < std::min(limits.max_blocks_per_sm, limits.max_threads_per_sm / std::max<std::int64_t>(threads, 1))) {
      return fmt::format("{} registers a thread let {} in", r.registers, blocks);
    }
    return fmt::format("an SM takes no more than {}", blocks);
  }

  std::optional<Binding> few_warps() const {
    const Resources& r = evidence_.resources;
    const DeviceLimits& limits = evidence_.device.limits;
    if (!on_gpu()) return std::nullopt;
    if (evidence_.shape && evidence_.device.sm_count > 0) {
      const std::int64_t blocks = blocks_of(*evidence_.shape);
      if (blocks < evidence_.device.sm_count) {
        return Binding{Kind::latency, fmt::format("{} block{} for {} SMs: the others have nothing to do", blocks, blocks == 1 ? "" : "s", evidence_.device.sm_count), {}};
      }
      const double resident = std::min(static_cast<double>(blocks) / static_cast<double>(evidence_.device.sm_count),
                                       r.blocks_per_sm > 0 ? static_cast<double>(r.blocks_per_sm) : 1e9) *
                              static_cast<double>(warps_of(*evidence_.shape, limits));
      const double most = static_cast<double>(limits.max_threads_per_sm / limits.warp_size);
      if (resident < kOccupancyShare * most) {
        return Binding{Kind::latency,
                       fmt::format("{} blocks are {:.1f} warps for each of {} SMs, which hold {:.0f}: too few to hide the waits", blocks, resident,
                                   evidence_.device.sm_count, most),
                       {}};
      }
    }
    if (ceiling_ && evidence_.time_us < kStartAndDrainUs) {
      return Binding{Kind::latency, fmt::format("{:.1f} us are mostly start and drain; {}", evidence_.time_us, share_text()), {}};
    }
    return std::nullopt;
  }

  // No unit is busy, as counted, and nothing of the above: the warps wait.
  std::optional<Binding> stalls() const {
    const std::optional<double> sm = counters_.sm_throughput(), memory = counters_.memory_throughput();
    if (!sm || !memory) return std::nullopt;
    const auto largest = counters_.largest_stall();
    return Binding{Kind::latency,
                   fmt::format("no unit is above {:.0f} % of its peak (counted){}", std::max(*sm, *memory),
                               largest ? fmt::format("; warps wait mostly for {}", *largest) : ""),
                   {}};
  }

  Binding nothing() const {
    if (!ceiling_) {
      const bool work = evidence_.work.flops > 0 || evidence_.work.bytes > 0;
      return {Kind::unknown, work ? "no ceiling is calibrated for this method: tunebook calibrate" : "the template declares no \"work\"", {}};
    }
    return {Kind::unknown, fmt::format("{}{}", share_text(), on_gpu() ? "; counters would tell (run --profile)" : ""), {}};
  }

  const BindingEvidence& evidence_;
  ProfileCounters counters_;
  std::optional<AppliedCeiling> ceiling_;
};

}  // namespace

std::string_view binding_name(Binding::Kind kind) {
  switch (kind) {
    case Binding::Kind::arithmetic: return "arithmetic";
    case Binding::Kind::bandwidth: return "bandwidth";
    case Binding::Kind::latency: return "latency";
    case Binding::Kind::occupancy: return "occupancy";
    case Binding::Kind::spills: return "spills";
    case Binding::Kind::bank_conflicts: return "bank conflicts";
    case Binding::Kind::unknown: break;
  }
  return "unknown";
}

Binding diagnose(const BindingEvidence& evidence) { return Diagnosis(evidence).conclude(); }

}  // namespace tunebook
