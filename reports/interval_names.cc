#include "reports/interval_names.h"

#include <fmt/format.h>

namespace tunebook::reports {
namespace {

// What core/statistics.h aims at.
constexpr double kAimed = 0.95;

std::string percent(double coverage) { return coverage >= kAimed ? std::string("95 %") : fmt::format("{:.0f} %", 100 * coverage); }

}  // namespace

std::string interval_name(std::optional<double> coverage) {
  if (!coverage) return "interval of unknown coverage";
  return *coverage > 0 ? percent(*coverage) + " interval" : std::string("one value, no interval");
}

void IntervalNames::add(const TimeEstimate& time) {
  const std::string name = interval_name(time.coverage);
  differ_ = differ_ || (common_ && *common_ != name);
  common_ = name;
  below_ = below_ || (time.coverage && *time.coverage < kAimed);
  unknown_ = unknown_ || !time.coverage;
}

std::string IntervalNames::heading() const { return differ_ || !common_ ? std::string("interval") : *common_; }

std::string IntervalNames::in_cell(const TimeEstimate& time) const {
  if (!differ_) return {};
  if (!time.coverage) return "coverage not known";
  return *time.coverage > 0 ? percent(*time.coverage) : std::string("one value");
}

std::string IntervalNames::legend() const {
  std::string text;
  if (below_) {
    text = "Intervals of medians come from order statistics: of three processes the interval covers the true median with 75 %, of five with 94 %, of six and more "
           "with at least 95 %; one process alone gives none.";
  }
  if (unknown_) text += fmt::format("{}Where it is not known how many values an interval comes from, its coverage is not known either.", text.empty() ? "" : " ");
  return text;
}

}  // namespace tunebook::reports
