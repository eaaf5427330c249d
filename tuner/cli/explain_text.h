#pragma once

#include <string>

#include <tunebook/lookup.h>

namespace tunebook::cli {

// What a lookup considered, tier by tier, as a table: each candidate's configuration, the problem and device that it was tuned for, its
// distance and time, and why it was passed over. What belongs to no tier comes last.
std::string explain_text(const Explanation& explanation);

}  // namespace tunebook::cli
