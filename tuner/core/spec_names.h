#pragma once

// Internal to the spec's source files: the names that every kernel's expressions may use, after its dimensions and parameters.

#include <array>
#include <cstddef>
#include <string_view>

namespace tunebook::spec_names {

// Slots relative to dimensions.size() + parameters.size(), in this order.
inline constexpr std::array<std::string_view, 19> kFixed = {
    "T",
    "native",
    "device.kind",
    "device.name",
    "device.compute_capability",
    "device.sm_count",
    "device.max_threads_per_block",
    "device.shared_bytes",
    "device.shared_bytes_per_sm",
    "device.registers_per_block",
    "device.registers_per_sm",
    "device.max_threads_per_sm",
    "device.warp_size",
    "device.l2_bytes",
    "device.max_blocks_per_sm",
    "device.memory_gib",
    "eps",
    "scale",
    "iteration",
};
inline constexpr std::size_t kType = 0;
inline constexpr std::size_t kNative = 1;
inline constexpr std::size_t kFirstDevice = 2;
inline constexpr std::size_t kEps = 16;
inline constexpr std::size_t kScale = 17;
inline constexpr std::size_t kIteration = 18;

// Words of the expression language, which cannot be names.
inline constexpr std::array<std::string_view, 20> kReserved = {
    "and", "or", "not", "in", "if", "else", "min", "max", "abs", "ceil_div",
    "round_up", "is_pow2", "log2", "sqrt", "sizeof", "True", "False", "true", "false", "device",
};

}  // namespace tunebook::spec_names
