#pragma once

#include <array>
#include <optional>
#include <vector>

#include "db/lookup_kernel.h"
#include "db/sqlite.h"
#include "tunebook/lookup.h"

namespace tunebook {

// One question, worked out as far as all tiers need it.
struct Question {
  const Query& query;
  const std::vector<KernelVersion>& versions;
};

// A tier gives its best answer, or nothing.
using TierFunction = std::optional<Answer> (*)(sqlite::Database& book, const Question& question);

// A winner for this very problem on this very device.
std::optional<Answer> exact_tier(sqlite::Database& book, const Question& question);
// The preset `default` of the kernel's declaration.
std::optional<Answer> default_tier(sqlite::Database& book, const Question& question);

// In the order in which they are asked.
inline constexpr std::array<TierFunction, 2> kTiers = {exact_tier, default_tier};

}  // namespace tunebook
