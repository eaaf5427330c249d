#include "reports/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include <gtest/gtest.h>

#include "core/random.h"
#include "reports/svg_charts.h"
#include "reports/svg_mark.h"
#include "reports/svg_scale.h"

namespace tunebook::reports::page {
namespace {

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> result;
  for (const Tick& tick : ticks) result.push_back(tick.label);
  return result;
}

TEST(Scale, RoundValues) {
  using Labels = std::vector<std::string>;
  EXPECT_EQ(labels(Scale(Scale::Kind::linear, 0, 240, 0, 100).ticks(5)), (Labels{"0", "50", "100", "150", "200"}));
  EXPECT_EQ(labels(Scale(Scale::Kind::linear, -0.1, 0.1, 0, 100).ticks(4)), (Labels{"-0.1", "-0.05", "0", "0.05", "0.1"}));
  EXPECT_EQ(labels(Scale(Scale::Kind::linear, 0, 0.3, 0, 100).ticks(3)), (Labels{"0", "0.1", "0.2", "0.3"}));
  EXPECT_EQ(labels(Scale(Scale::Kind::logarithmic, 0.5, 12, 0, 100).ticks(5)), (Labels{"0.5", "1", "2", "5", "10"}));
  EXPECT_EQ(labels(Scale(Scale::Kind::logarithmic, 1, 1e8, 0, 100).ticks(4)), (Labels{"1", "100", "10000", "1e+06", "1e+08"}));
  EXPECT_EQ(labels(Scale(Scale::Kind::logarithmic, 8.3, 9.1, 0, 100).ticks(4)), (Labels{"8.4", "8.6", "8.8", "9"}));
}

TEST(Scale, PlacesValues) {
  const Scale linear(Scale::Kind::linear, 10, 30, 100, 200);
  EXPECT_DOUBLE_EQ(linear(10), 100);
  EXPECT_DOUBLE_EQ(linear(20), 150);
  const Scale upwards(Scale::Kind::logarithmic, 1, 100, 200, 0);
  EXPECT_DOUBLE_EQ(upwards(10), 100);
  EXPECT_DOUBLE_EQ(upwards(100), 0);
}

// Any range, however senseless: places are finite, ticks few, ascending and inside.
TEST(Scale, AnyRange) {
  Random random(3);
  std::vector<double> ends = {0, 1, -1, 1e-300, 1e300, 1e-9, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 5, 5.0000001};
  for (int i = 0; i < 60; ++i) ends.push_back(random.normal() * std::pow(10, 12 * random.normal()));
  for (const double low : ends) {
    for (const double high : ends) {
      for (const auto kind : {Scale::Kind::linear, Scale::Kind::logarithmic}) {
        const Scale scale(kind, low, high, 0, 100);
        EXPECT_LT(scale.low(), scale.high());
        double last = -1;
        const std::vector<Tick> ticks = scale.ticks(5);
        EXPECT_LE(ticks.size(), 12u) << low << " " << high;
        for (const Tick& tick : ticks) {
          EXPECT_GE(tick.place, -0.01) << low << " " << high;
          EXPECT_LE(tick.place, 100.01) << low << " " << high;
          EXPECT_GT(tick.place, last);
          EXPECT_FALSE(tick.label.empty());
          last = tick.place;
        }
      }
    }
  }
}

TEST(Svg, Coordinates) {
  EXPECT_EQ(coordinate(1.25), "1.3");
  EXPECT_EQ(coordinate(-0.01), "0");
  EXPECT_EQ(coordinate(1e300), "100000");
  EXPECT_EQ(coordinate(std::nan("")), "0");
}

TEST(Svg, TextsAreEscaped) {
  Svg svg(10, 10, "<label \"x\">");
  svg.text(1, 2, "<b>");
  svg.polyline("1,1", "c", "<t>");
  EXPECT_EQ(std::move(svg).finish(), "<svg class=\"chart\" viewBox=\"0 0 10 10\" role=\"img\" aria-label=\"&lt;label &quot;x&quot;&gt;\">"
                                     "<text x=\"1\" y=\"2\">&lt;b&gt;</text><polyline class=\"c\" points=\"1,1\"><title>&lt;t&gt;</title></polyline></svg>\n");
}

TEST(SvgMark, KindsLookDifferent) {
  std::vector<std::string> looks;
  for (const Outcome outcome : kOutcomes) {
    EXPECT_FALSE(mark_name(mark_kind(outcome)).empty());
    EXPECT_EQ(mark_kind(outcome) == MarkKind::timed || mark_kind(outcome) == MarkKind::abandoned, has_time(outcome));
    looks.push_back(mark_svg(mark_kind(outcome), 0, 0));
  }
  std::sort(looks.begin(), looks.end());
  EXPECT_EQ(std::unique(looks.begin(), looks.end()) - looks.begin(), 10);
}

TEST(SvgCharts, NumbersThatAreNone) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const std::vector<ScatterMark> marks = {{1, nan, MarkKind::timed}, {2, infinity, MarkKind::timed}, {3, 0.0, MarkKind::timed}, {4, std::nullopt, MarkKind::fault}};
  const std::vector<CurvePoint> points = {{1, nan}, {2, infinity}, {3, -1}, {4, 1e-300}};
  const std::vector<NightMark> nights = {{"", nan, nan, nan}, {"2026-01-01", infinity, -1, 0}};
  for (const std::string& svg : {scatter_svg(marks, 4, 0, time_unit(1), "x"), scatter_svg({}, 0, std::nullopt, time_unit(1), "x"), convergence_svg(points, points, 4, time_unit(1), "x"),
                                 convergence_svg({}, {}, 0, time_unit(1), "x"), nights_svg(nights, time_unit(1), "x"), nights_strip(nights), nights_strip({}),
                                 ChangeAxis(std::vector{nan, infinity}).row(nan, -infinity, infinity, nan)}) {
    EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
    EXPECT_EQ(svg.find("inf"), std::string::npos) << svg;
  }
}

TEST(SvgCharts, ForestRow) {
  const ChangeAxis axis(std::vector{-0.10, 0.05});
  EXPECT_NEAR(axis.reach(), 0.105, 1e-12);
  const std::string row = axis.row(0.0525, 0.021, 0.084, 0.02);
  EXPECT_NE(row.find("<circle class=\"point\" cx=\"75%\""), std::string::npos) << row;
  EXPECT_NE(row.find("<line class=\"whisker\" x1=\"60%\" y1=\"13\" x2=\"90%\""), std::string::npos) << row;
  EXPECT_NE(row.find("<rect class=\"band\" x=\"40.5%\" width=\"19%\""), std::string::npos) << row;
  // One wild interval does not flatten the others.
  EXPECT_NEAR(ChangeAxis(std::vector{-0.02, 40.0}).reach(), ChangeAxis::kFurthest * 1.05, 1e-12);
}

TEST(SvgCharts, NightsOfARetimingAreDiamonds) {
  const std::vector<NightMark> nights = {{"2026-11-01", 10, 9.9, 10.1}, {"2026-11-02", 10, 9.9, 10.1, false, false}, {"2026-11-03", 9, 8.9, 9.1, true, false}};
  for (const std::string& svg : {nights_svg(nights, time_unit(10), "x"), nights_strip(nights)}) {
    const std::size_t circle = svg.find("<circle class=\"same\""), diamond = svg.find("<path class=\"same\" d=\"M"), hollow = svg.find("<path class=\"changed\" d=\"M");
    EXPECT_LT(circle, diamond) << svg;
    EXPECT_LT(diamond, hollow) << svg;
    EXPECT_NE(hollow, std::string::npos) << svg;
    EXPECT_EQ(svg.find("<circle", circle + 1), std::string::npos) << "one search";
  }
}

TEST(SvgCharts, ConvergenceIsAStepFunction) {
  const std::string svg = convergence_svg(std::vector<CurvePoint>{{1, 8}, {50, 4}}, {}, 100, time_unit(1), "x");
  const std::size_t from = svg.find("class=\"curve\" points=\"") + 22;
  const std::string points = svg.substr(from, svg.find('"', from) - from);
  double x[4], y[4];
  ASSERT_EQ(std::sscanf(points.c_str(), "%lf,%lf %lf,%lf %lf,%lf %lf,%lf", &x[0], &y[0], &x[1], &y[1], &x[2], &y[2], &x[3], &y[3]), 8) << points;
  EXPECT_EQ(y[0], y[1]);
  EXPECT_EQ(x[1], x[2]);
  EXPECT_LT(y[1], y[2]);
  EXPECT_EQ(y[2], y[3]);
}

}  // namespace
}  // namespace tunebook::reports::page
