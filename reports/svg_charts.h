#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/html_text.h"
#include "reports/svg.h"
#include "reports/svg_mark.h"

// Pictures over plain numbers. A time that is not finite or not positive is left out of the lines and axes.
namespace tunebook::reports::page {

// One mark of a scatter plot; without a time it stands in a lane of its kind above the plot.
struct ScatterMark {
  double x = 0;
  std::optional<double> time_us;
  MarkKind kind = MarkKind::timed;
};
// Every trial: time (logarithmic) against evaluation. The i-th element of its group of class "m" is row i of the table behind it; `best`,
// an index, gets a ring.
std::string scatter_svg(std::span<const ScatterMark> marks, double last_evaluation, std::optional<std::size_t> best, const TimeUnit& unit,
                        std::string_view label);

using CurvePoint = std::pair<double, double>;  // evaluation, time in us
// The best time so far (a step function, marks at its steps) and what random search is expected to have found, up to `last_evaluation`.
std::string convergence_svg(std::span<const CurvePoint> best, std::span<const CurvePoint> random, double last_evaluation,
                            const TimeUnit& unit, std::string_view label);

struct Line {
  std::string name;
  std::vector<CurvePoint> points;
};
// Any lines over a logarithmic x axis; the y axis is logarithmic from `low` to `high` with the given ticks, values beyond are drawn at
// its ends. The i-th line has class "s<i % 8>".
std::string lines_svg(std::span<const Line> lines, double low, double high, std::span<const std::pair<double, std::string>> ticks,
                      std::string_view x_title, std::string_view label);

// An axis of changes (shares) around zero for the rows of a forest plot; one for all rows.
class ChangeAxis {
 public:
  // Reaches over all `ends` of intervals, but not further than `kFurthest` either way: one wild interval must not flatten the rest.
  explicit ChangeAxis(std::span<const double> ends);
  // Interval, estimate and the band of changes that do not count. Intervals that leave the axis end in an arrow's head.
  std::string row(double change, double low, double high, double gate) const;
  // The band alone, of an item without a change.
  std::string row(double gate) const;
  std::string header() const;
  double reach() const { return reach_; }
  static constexpr double kFurthest = 0.5;

 private:
  double place(double share) const;  // percent
  void draw_band(Strip& strip, double gate) const;
  double reach_;
};

// A bar over `percent` of a cell's width.
std::string bar_svg(double percent, std::string_view classes = "barfill");

// One night of one item.
struct NightMark {
  std::string date;
  double time_us = 0, low_us = 0, high_us = 0;
  bool changed = false;  // something else than before: a hollow mark
  bool searched = true;  // else the winner was only timed again: a diamond
};
// A mark with its middle at (x, y).
std::string night_mark(const NightMark& night, double x, double y);
// The nights from left to right, evenly spaced, with their intervals. The axis spans a tenth at least: noise must not look like change.
// The i-th element of the group of class "m" is row i of the table behind it.
std::string nights_svg(std::span<const NightMark> nights, const TimeUnit& unit, std::string_view label);
// The same, small, for a table's cell.
std::string nights_strip(std::span<const NightMark> nights);

}  // namespace tunebook::reports::page
