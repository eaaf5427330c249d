#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text_table.h"

namespace tunebook::cli {

// The table for stdout: as wide as the terminal that it is, or as it needs to be.
std::string terminal_text(const TextTable& table);

// Colour only on a terminal and without NO_COLOR.
bool colour_allowed(std::FILE* stream);
std::string bold(std::string_view text, std::FILE* stream);
std::string green(std::string_view text, std::FILE* stream);
std::string red(std::string_view text, std::FILE* stream);

// How far a right configuration was verified: "on 6 problems, the tuned one included; 1 excluded by its constraints". Marked where it
// was the tuned problem alone.
std::string verified_text(std::int64_t verified_problems, std::int64_t skipped_problems);

// What [low, high] of core/statistics.h's median_interval is for this sample: "95 % interval"; with few samples its coverage is
// lower, and that is said: "75 % interval" for three.
std::string interval_name(std::span<const double> sample);

// A line on stderr that is rewritten in place on a terminal and not shown elsewhere.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // erases what is shown
  bool on_terminal() const { return terminal_; }
  void show(const std::string& text);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  double last_shown_ = -1;  // seconds; at most ten a second are drawn
};

}  // namespace tunebook::cli
