#pragma once

#include <cstdint>

namespace tunebook {

// What an item's settings may be: the limits of `tune`'s options of the same names.
inline constexpr std::int64_t kMaxFinalists = 32;
inline constexpr std::int64_t kMaxFromBook = 100'000;
inline constexpr std::int64_t kMaxFinalistProcesses = 100;
inline constexpr std::int64_t kMaxClockMhz = 100'000;
inline constexpr double kMinTimeoutSeconds = 0.001;
inline constexpr double kMaxTimeoutSeconds = 7 * 24 * 3600.0;
// A priority of 0 would never be worth any time: leave the sessions out instead.
inline constexpr double kMinPriority = 1e-3;
inline constexpr double kMaxPriority = 1e3;
inline constexpr double kMaxDays = 36525;  // a century: longer is "never"

}  // namespace tunebook
