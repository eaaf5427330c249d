#pragma once

#include <optional>
#include <string>

#include "reports/report.h"

// What an interval of a median is called. Its coverage follows from how many values it was made from (core/statistics.h): 95 % take six
// processes, five give 93.75 %, three 75 %, and what is shown must not claim more.
namespace tunebook::reports {

// "95 % interval" from that coverage on, "75 % interval"; "one value, no interval" for 0; "interval of unknown coverage".
std::string interval_name(std::optional<double> coverage);

// The intervals of one column. Where all cover alike its heading says how much, else every cell does.
class IntervalNames {
 public:
  void add(const TimeEstimate& time);
  void add(const TimeEstimate* time) {
    if (time != nullptr) add(*time);
  }
  void add(const std::optional<TimeEstimate>& time) {
    if (time) add(*time);
  }
  // interval_name() of all, or "interval".
  std::string heading() const;
  // "75 %", "95 %", "one value", "coverage not known"; "" where the heading says it.
  std::string in_cell(const TimeEstimate& time) const;
  // A sentence for readers if any covers less than 95 %, else "".
  std::string legend() const;

 private:
  std::optional<std::string> common_;  // of those so far
  bool differ_ = false, below_ = false, unknown_ = false;
};

}  // namespace tunebook::reports
