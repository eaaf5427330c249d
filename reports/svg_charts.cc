#include "reports/svg_charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "reports/svg.h"
#include "reports/svg_scale.h"

namespace tunebook::reports::page {
namespace {

// Of the pictures with axes. Wide enough for labels at the larger size that narrow screens get (page.css).
constexpr double kWidth = 520;
constexpr double kHeight = 262;
constexpr double kLeft = 50;
constexpr double kRight = kWidth - 12;
constexpr double kTop = 24;
constexpr double kBottom = kHeight - 34;
constexpr double kLane = 12;  // height of a lane of failures

bool is_time(double us) { return std::isfinite(us) && us > 0; }

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  void add(double us) {
    if (!is_time(us)) return;
    low = std::min(low, us);
    high = std::max(high, us);
  }
};

void draw_axes(Svg& svg, const Scale& x, const Scale& y, std::string_view x_title, std::string_view y_title) {
  for (const Tick& tick : y.ticks(5)) {
    svg.line(kLeft, tick.place, kRight, tick.place, "grid");
    svg.text(kLeft - 6, tick.place + 4, tick.label, "e");
  }
  for (const Tick& tick : x.ticks(5)) svg.text(tick.place, kBottom + 16, tick.label, "c");
  svg.text(kRight, kHeight - 3, x_title, "e");
  svg.text(2, 11, y_title);
}

std::string time_title(const TimeUnit& unit) { return fmt::format("time, {} (log)", unit.name); }

// A point of a polyline.
std::string pair_of(double x, double y) { return coordinate(x) + "," + coordinate(y) + " "; }

}  // namespace

std::string scatter_svg(std::span<const ScatterMark> marks, double last_evaluation, std::optional<std::size_t> best, const TimeUnit& unit,
                        std::string_view label) {
  Extent extent;
  std::array<int, 16> lane_of{};  // from 1, in the order of the kinds
  int lanes = 0;
  for (const ScatterMark& mark : marks) {
    if (mark.time_us) extent.add(*mark.time_us / unit.us);
    else lane_of[static_cast<std::size_t>(mark.kind)] = 1;
  }
  for (int& lane : lane_of) {
    if (lane != 0) lane = ++lanes;
  }
  const double top = kTop + lanes * kLane + (lanes > 0 ? 6 : 0);
  const Scale x(Scale::Kind::linear, 0, std::max(1.0, last_evaluation), kLeft, kRight);
  const Scale y(Scale::Kind::logarithmic, extent.low * 0.93, extent.high * 1.07, kBottom, top);
  Svg svg(kWidth, kHeight, label);
  draw_axes(svg, x, y, "evaluation", time_title(unit));
  const auto height = [&](const ScatterMark& mark) {
    return mark.time_us ? y(is_time(*mark.time_us) ? *mark.time_us / unit.us : y.low()) : kTop - 4 + kLane * lane_of[static_cast<std::size_t>(mark.kind)];
  };
  svg.raw("<g class=\"m\">");
  for (const ScatterMark& mark : marks) svg.raw(mark_svg(mark.kind, x(mark.x), height(mark)));
  svg.raw("</g>");
  if (best) svg.raw(mark_svg(MarkKind::best, x(marks[*best].x), height(marks[*best])));
  return std::move(svg).finish();
}

std::string convergence_svg(std::span<const CurvePoint> best, std::span<const CurvePoint> random, double last_evaluation,
                            const TimeUnit& unit, std::string_view label) {
  Extent extent;
  for (const CurvePoint& point : best) extent.add(point.second / unit.us);
  // Random's first evaluations may lie far above: they would flatten what matters.
  const double highest = extent.high > 0 ? 2.5 * extent.high : std::numeric_limits<double>::infinity();
  for (const CurvePoint& point : random) extent.add(std::min(point.second / unit.us, highest));
  const Scale x(Scale::Kind::linear, 0, std::max(1.0, last_evaluation), kLeft, kRight);
  // Room for a name under the lowest line.
  const Scale y(Scale::Kind::logarithmic, extent.low / std::pow(extent.high / extent.low, 0.13) * 0.98, extent.high * 1.05, kBottom, kTop);
  Svg svg(kWidth, kHeight, label);
  draw_axes(svg, x, y, "evaluation", fmt::format("best {}", time_title(unit)));

  std::string points;
  for (const CurvePoint& point : random) {
    if (is_time(point.second)) points += pair_of(x(point.first), std::max(y(point.second / unit.us), kTop));
  }
  if (!points.empty()) svg.polyline(points, "random");
  points.clear();
  double level = 0;
  for (const CurvePoint& point : best) {
    if (!is_time(point.second)) continue;
    if (!points.empty()) points += pair_of(x(point.first), level);
    level = y(point.second / unit.us);
    points += pair_of(x(point.first), level);
  }
  if (!points.empty()) svg.polyline(points + pair_of(x(last_evaluation), level), "curve");
  svg.raw("<g class=\"m\">");
  for (const CurvePoint& point : best) svg.raw(mark_svg(MarkKind::timed, x(point.first), y(point.second / unit.us)));
  svg.raw("</g>");

  // The lines are named at their right ends, the upper one above its line and the lower one above or, where that is taken, below.
  if (best.empty()) return std::move(svg).finish();
  const std::string own = fmt::format("this search {}", in_unit(best.back().second, unit));
  if (random.empty()) {
    svg.text(kRight, level - 6, own, "e blue");
    return std::move(svg).finish();
  }
  const double other = std::max(y(random.back().second / unit.us), kTop);
  const bool near = std::abs(other - level) < 18;
  const bool own_is_lower = level >= other;
  svg.text(kRight, level + (near && own_is_lower ? 15 : -6), own, "e blue");
  svg.text(kRight, other + (near && !own_is_lower ? 15 : -6), fmt::format("random {}", in_unit(random.back().second, unit)), "e");
  return std::move(svg).finish();
}

std::string lines_svg(std::span<const Line> lines, double low, double high, std::span<const std::pair<double, std::string>> ticks,
                      std::string_view x_title, std::string_view label) {
  double last = 2;
  for (const Line& line : lines) {
    for (const CurvePoint& point : line.points) last = std::max(last, point.first);
  }
  const Scale x(Scale::Kind::logarithmic, 1, last, kLeft, kRight);
  const Scale y(Scale::Kind::logarithmic, low, high, kBottom, kTop - 12);
  Svg svg(kWidth, kHeight, label, "chart lines");
  for (const auto& [value, text] : ticks) {
    svg.line(kLeft, y(value), kRight, y(value), "grid");
    svg.text(kLeft - 6, y(value) + 4, text, "e");
  }
  for (const Tick& tick : x.ticks(6)) svg.text(tick.place, kBottom + 16, tick.label, "c");
  svg.text(kRight, kHeight - 3, x_title, "e");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string points;
    for (const CurvePoint& point : lines[i].points) points += pair_of(x(point.first), y(std::clamp(point.second, low, high)));
    svg.polyline(points, fmt::format("s{}", i % 8), lines[i].name);
  }
  return std::move(svg).finish();
}

ChangeAxis::ChangeAxis(std::span<const double> ends) : reach_(0.03) {
  for (const double end : ends) {
    if (std::isfinite(end)) reach_ = std::max(reach_, std::min(std::abs(end), kFurthest));
  }
  reach_ *= 1.05;
}

double ChangeAxis::place(double share) const { return 50 + 50 * std::clamp(share / reach_, -1.0, 1.0); }

void ChangeAxis::draw_band(Strip& strip, double gate) const {
  strip.rect(place(-gate), place(gate) - place(-gate), "band");
  for (const Tick& tick : Scale(Scale::Kind::linear, -reach_, reach_, 0, 100).ticks(4)) {
    strip.upright(tick.place, tick.value == 0 ? "axis" : "grid");
  }
}

std::string ChangeAxis::row(double gate) const {
  Strip strip;
  draw_band(strip, gate);
  return std::move(strip).finish();
}

std::string ChangeAxis::row(double change, double low, double high, double gate) const {
  constexpr double kMiddle = 13;
  Strip strip;
  draw_band(strip, gate);
  strip.line(place(low), kMiddle, place(high), kMiddle, "whisker");
  // Ends that lie outside: two strokes towards the edge.
  for (const double end : {low, high}) {
    if (std::abs(end) <= reach_) continue;
    const double tip = end < 0 ? 0 : 100;
    const double tail = end < 0 ? 2.5 : 97.5;
    strip.line(tip, kMiddle, tail, kMiddle - 4, "whisker");
    strip.line(tip, kMiddle, tail, kMiddle + 4, "whisker");
  }
  if (std::abs(change) <= reach_) strip.circle(place(change), kMiddle, 4.5, "point");
  return std::move(strip).finish();
}

std::string ChangeAxis::header() const {
  Strip strip;
  for (const Tick& tick : Scale(Scale::Kind::linear, -reach_, reach_, 0, 100).ticks(4)) {
    const double percent = 100 * tick.value;
    strip.text(tick.place, 12, percent == 0 ? std::string("0") : fmt::format("{}{:.4g} %", percent < 0 ? "\u2212" : "+", std::abs(percent)), "c");
  }
  return std::move(strip).finish();
}

std::string bar_svg(double percent, std::string_view classes) {
  Strip strip;
  strip.rect(0, std::clamp(percent, 0.0, 100.0), classes);
  return std::move(strip).finish();
}

namespace {

// Times of all nights and their intervals, and a tenth at least.
Extent nights_extent(std::span<const NightMark> nights, double unit_us) {
  Extent extent;
  for (const NightMark& night : nights) {
    for (const double us : {night.time_us, night.low_us, night.high_us}) extent.add(us / unit_us);
  }
  const double middle = std::sqrt(extent.low * extent.high);
  return {std::min(extent.low, middle / 1.05), std::max(extent.high, middle * 1.05)};
}

// Places of the nights between two ends.
double night_place(std::size_t i, std::size_t count, double from, double to) {
  return count < 2 ? (from + to) / 2 : from + (to - from) * static_cast<double>(i) / static_cast<double>(count - 1);
}

}  // namespace

// A circle, or a diamond where nothing was searched; hollow where something changed.
std::string night_mark(const NightMark& night, double x, double y) {
  const std::string_view classes = night.changed ? "changed" : "same";
  if (night.searched) return fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"4\"/>", classes, coordinate(x), coordinate(y));
  return fmt::format("<path class=\"{}\" d=\"M{} {}l5 5-5 5-5-5z\"/>", classes, coordinate(x), coordinate(y - 5));
}

std::string nights_svg(std::span<const NightMark> nights, const TimeUnit& unit, std::string_view label) {
  constexpr double kNightHeight = 190;
  constexpr double kFloor = kNightHeight - 26;
  const Extent extent = nights_extent(nights, unit.us);
  const Scale y(Scale::Kind::logarithmic, extent.low / 1.01, extent.high * 1.01, kFloor, kTop);
  const auto x = [&](std::size_t i) { return night_place(i, nights.size(), kLeft + 22, kRight - 22); };
  Svg svg(kWidth, kNightHeight, label);
  for (const Tick& tick : y.ticks(4)) {
    svg.line(kLeft, tick.place, kRight, tick.place, "grid");
    svg.text(kLeft - 6, tick.place + 4, tick.label, "e");
  }
  svg.text(2, 11, time_title(unit));
  // As many dates as have room, the last one included.
  const std::size_t every = (nights.size() + 5) / 6;
  std::string points;
  for (std::size_t i = 0; i < nights.size(); ++i) {
    points += pair_of(x(i), y(nights[i].time_us / unit.us));
    if ((nights.size() - 1 - i) % every == 0) svg.text(x(i), kFloor + 18, nights[i].date.size() == 10 ? nights[i].date.substr(5) : nights[i].date, "c");
  }
  svg.polyline(points, "axis");
  for (std::size_t i = 0; i < nights.size(); ++i) {
    svg.line(x(i), y(nights[i].low_us / unit.us), x(i), y(nights[i].high_us / unit.us), "whisker");
  }
  svg.raw("<g class=\"m\">");
  for (std::size_t i = 0; i < nights.size(); ++i) {
    svg.raw(night_mark(nights[i], x(i), y(nights[i].time_us / unit.us)));
  }
  svg.raw("</g>");
  return std::move(svg).finish();
}

std::string nights_strip(std::span<const NightMark> nights) {
  constexpr double kUpper = 5, kLower = 35;
  const Extent extent = nights_extent(nights, 1);
  const Scale y(Scale::Kind::logarithmic, extent.low, extent.high, kLower, kUpper);
  const auto x = [&](std::size_t i) { return night_place(i, nights.size(), 2, 98); };
  Strip strip;
  for (std::size_t i = 1; i < nights.size(); ++i) {
    strip.line(x(i - 1), y(nights[i - 1].time_us), x(i), y(nights[i].time_us), "axis");
  }
  for (std::size_t i = 0; i < nights.size(); ++i) {
    strip.line(x(i), y(nights[i].low_us), x(i), y(nights[i].high_us), "whisker");
    strip.mark(x(i), night_mark(nights[i], 0, y(nights[i].time_us)));
  }
  return std::move(strip).finish();
}

}  // namespace tunebook::reports::page
