#include "cli/explain_text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/terminal.h"
#include "core/value.h"

namespace tunebook::cli {
namespace {

// A book may hold anything: what a terminal would obey is shown as a question mark.
std::string harmless(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

std::string display(const LookupValues& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, to_text(value));
  }
  return text.empty() ? "-" : harmless(std::move(text));
}

std::string verdict(const Consideration& one) {
  switch (one.obstacle) {
    case Obstacle::none: return "the answer";
    // Of predicted ones the losses tell how much they are behind.
    case Obstacle::not_needed: return one.candidate.tier == Tier::predicted ? harmless(one.reason) : "fits too";
    default: return harmless(one.reason.empty() ? obstacle_name(one.obstacle) : one.reason);
  }
}

}  // namespace

std::string explain_text(const Explanation& explanation) {
  TextTable table{{"tier", "configuration", "tuned for", "on", "distance", "time", "verdict"},
                  {false, false, false, false, true, true, false},
                  {}};
  for (const Consideration& one : explanation.considered) {
    const Answer& candidate = one.candidate;
    table.rows.push_back({one.in_a_tier ? tier_name(candidate.tier) : "none", display(candidate.configuration), display(candidate.problem),
                          candidate.device.name.empty() ? "-" : harmless(candidate.device.name),
                          one.in_a_tier ? fmt::format("{:.2f}", candidate.distance) : "-",
                          candidate.median_us      ? format_time_us(*candidate.median_us)
                          : candidate.predicted_us ? "~" + format_time_us(*candidate.predicted_us)
                                                   : "-",
                          verdict(one)});
  }
  std::string text = terminal_text(table);
  if (explanation.left_out > 0) {
    text += fmt::format("and {} more\n", explanation.left_out);
  }
  return text;
}

}  // namespace tunebook::cli
