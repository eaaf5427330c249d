#pragma once

#include <string>
#include <string_view>

namespace tunebook::reports::page {

// A coordinate with one decimal at most.
std::string coordinate(double value);

// A picture with a coordinate system of its own, scaled to the width that it gets. Colours are classes of page.css, so that they follow
// light, dark and print. A screen reader hears the label alone: what is in the picture must be in a table too.
class Svg {
 public:
  Svg(double width, double height, std::string_view label, std::string_view classes = "chart");

  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  void rect(double x, double y, double width, double height, std::string_view classes);
  void text(double x, double y, std::string_view text, std::string_view classes = "");
  // `points` as SVG's points attribute wants them; `title` is shown when the pointer rests on it.
  void polyline(std::string_view points, std::string_view classes, std::string_view title = "");
  // Takes what is valid inside <svg> as it is.
  void raw(std::string_view svg) { svg_ += svg; }

  std::string finish() &&;

 private:
  std::string svg_;
};

// A picture one table cell wide: places along it are percentages, so that it stretches without distortion; heights are pixels.
class Strip {
 public:
  explicit Strip(std::string_view label = "", std::string_view classes = "");

  void line(double percent1, double y1, double percent2, double y2, std::string_view classes);
  void rect(double percent, double percent_width, std::string_view classes);  // over the whole height
  void upright(double percent, std::string_view classes);                     // a line over the whole height
  void circle(double percent, double y, double radius, std::string_view classes);
  void text(double percent, double y, std::string_view text, std::string_view classes);
  // A picture drawn around x = 0 in pixels.
  void mark(double percent, std::string_view svg);

  std::string finish() &&;

 private:
  std::string svg_;
};

}  // namespace tunebook::reports::page
