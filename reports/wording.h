#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "reports/interval_names.h"
#include "reports/report.h"

// How numbers and texts of a book read on a terminal and in Markdown.
namespace tunebook::reports::plain {

// One line that cannot steer a terminal or turn the text around it: line ends and tabs become spaces; other control characters and those
// that set or isolate directions become U+FFFD. What is longer than `bytes` is cut and ends in "...".
std::string one_line(std::string_view text, std::size_t bytes);

// "1.23 ms (1.22 to 1.25)"; "-" without one. What the interval covers stands in it if `names` does not say it for all.
std::string time_text(const TimeEstimate* time, const IntervalNames& names);
// "12.3 mJ"; "-" without one.
std::string energy_text(const std::optional<double>& joules);
// "12.3 mJ -> 11.9 mJ (-3.3 %)"; "-" if neither side has one.
std::string energies_text(const ComparedItem& item);
// Whether either side's energy is known.
bool has_energy(const ComparedItem& item);
// "412", or "2 (re-timed)" of a session that searched nothing.
std::string trials_text(const Item& item);
// "51.4 TFLOP/s" or "4,250 GB/s", as counts_arithmetic() says; "-" without either.
std::string rate_text(const Item& item, const Rates& rates);
// "92 %" of the ceiling; "-".
std::string ceiling_text(const Rates& rates);
// "+8.3 %", "-0.4 %", "0.0 %" of a share.
std::string change_text(double share);
// "[+7.1, +9.5] %"; "-".
std::string change_interval_text(const ComparedItem& item);
// "1.19x (1.18 to 1.20)" of a baseline that has a ratio; else "-".
std::string baseline_text(const Item& item);
// "4,096" for counts.
std::string count_text(std::int64_t count);
// "31 compile_error, 2 fault".
std::string outcomes_text(const std::vector<std::pair<Outcome, std::int64_t>>& outcomes);
// "compile 12 s, verify 3 s, time 40 s, device idle 2 s, wall 58 s".
std::string cost_text(const Cost& cost);
// An entry of an environment with its unit where it belongs: "power limit w" 700.0 is "power limit" 700 W, "uuid" is "GPU UUID". Values that
// several sessions gave, joined with ", ", each have it.
Labelled shown_entry(const Labelled& entry);
// What of its configuration changed: "same configuration", "another winner: BM 64 -> 128, TM 4 -> 8", with "; kernel changed".
std::string difference_text(const ComparedItem& item);

}  // namespace tunebook::reports::plain
