#include "reports/svg.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/html_text.h"

namespace tunebook::reports::page {
namespace {

// role="img" where there is something to say, else hidden: the table around it says it already.
std::string accessible(std::string_view label) {
  return label.empty() ? std::string("aria-hidden=\"true\"") : fmt::format("role=\"img\" aria-label=\"{}\"", escape(label));
}

std::string class_attribute(std::string_view classes) {
  return classes.empty() ? std::string() : fmt::format(" class=\"{}\"", classes);
}

}  // namespace

std::string coordinate(double value) {
  // Far outside is outside: no browser has to cope with 1e300.
  const double rounded = std::round(std::clamp(std::isfinite(value) ? value : 0.0, -1e5, 1e5) * 10) / 10;
  return fmt::format("{}", rounded == 0 ? 0.0 : rounded);
}

Svg::Svg(double width, double height, std::string_view label, std::string_view classes)
    : svg_(fmt::format("<svg{} viewBox=\"0 0 {} {}\" {}>", class_attribute(classes), coordinate(width), coordinate(height),
                       accessible(label))) {}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  svg_ += fmt::format("<path{} d=\"M{} {}L{} {}\"/>", class_attribute(classes), coordinate(x1), coordinate(y1), coordinate(x2),
                      coordinate(y2));
}

void Svg::rect(double x, double y, double width, double height, std::string_view classes) {
  svg_ += fmt::format("<rect{} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", class_attribute(classes), coordinate(x), coordinate(y),
                      coordinate(width), coordinate(height));
}

void Svg::text(double x, double y, std::string_view text, std::string_view classes) {
  svg_ += fmt::format("<text{} x=\"{}\" y=\"{}\">{}</text>", class_attribute(classes), coordinate(x), coordinate(y), escape(text));
}

void Svg::polyline(std::string_view points, std::string_view classes, std::string_view title) {
  svg_ += fmt::format("<polyline{} points=\"{}\">{}</polyline>", class_attribute(classes), points,
                      title.empty() ? std::string() : fmt::format("<title>{}</title>", escape(title)));
}

std::string Svg::finish() && { return std::move(svg_) + "</svg>\n"; }

Strip::Strip(std::string_view label, std::string_view classes)
    : svg_(fmt::format("<svg{} {}>", class_attribute(classes), accessible(label))) {}

void Strip::line(double percent1, double y1, double percent2, double y2, std::string_view classes) {
  svg_ += fmt::format("<line{} x1=\"{}%\" y1=\"{}\" x2=\"{}%\" y2=\"{}\"/>", class_attribute(classes), coordinate(percent1),
                      coordinate(y1), coordinate(percent2), coordinate(y2));
}

void Strip::rect(double percent, double percent_width, std::string_view classes) {
  svg_ += fmt::format("<rect{} x=\"{}%\" width=\"{}%\" height=\"100%\"/>", class_attribute(classes), coordinate(percent),
                      coordinate(std::max(percent_width, 0.0)));
}

void Strip::upright(double percent, std::string_view classes) {
  svg_ += fmt::format("<line{} x1=\"{}%\" y1=\"0\" x2=\"{}%\" y2=\"100%\"/>", class_attribute(classes), coordinate(percent), coordinate(percent));
}

void Strip::circle(double percent, double y, double radius, std::string_view classes) {
  svg_ += fmt::format("<circle{} cx=\"{}%\" cy=\"{}\" r=\"{}\"/>", class_attribute(classes), coordinate(percent), coordinate(y),
                      coordinate(radius));
}

void Strip::text(double percent, double y, std::string_view text, std::string_view classes) {
  svg_ += fmt::format("<text{} x=\"{}%\" y=\"{}\">{}</text>", class_attribute(classes), coordinate(percent), coordinate(y), escape(text));
}

void Strip::mark(double percent, std::string_view svg) { svg_ += fmt::format("<svg x=\"{}%\">{}</svg>", coordinate(percent), svg); }

std::string Strip::finish() && { return std::move(svg_) + "</svg>"; }

}  // namespace tunebook::reports::page
