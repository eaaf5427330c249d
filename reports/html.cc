#include "reports/html.h"

#include <algorithm>

#include "reports/html_compare.h"
#include "reports/html_parts.h"
#include "reports/html_report.h"

namespace tunebook::reports {
namespace {

// The first of ever less detailed pages that is small enough; the last if none is.
template <typename MakePage>
std::string fitting_page(std::size_t items, const MakePage& make) {
  page::Detail detail;
  std::string html = make(detail);
  // Trials are thinned first; items lose their details only when these are thin already.
  constexpr std::size_t kThinPoints = 80;
  while (html.size() > kMostHtmlBytes && (detail.points > kThinPoints || detail.items > 0)) {
    if (detail.points <= kThinPoints) {
      // Many items without pictures are more use than few with them.
      detail.pictures = std::min(detail.pictures, items) / 2;
      if (detail.pictures == 0 || detail.top == 3) detail.items = std::min(detail.items, items) * 2 / 3;
      detail.top = std::max<std::size_t>(3, detail.top * 2 / 3);
    }
    detail.points = std::max(kThinPoints, detail.points * 2 / 3);
    detail.text = std::max<std::size_t>(300, detail.text / 2);
    detail.sessions = std::max<std::size_t>(20, detail.sessions / 2);
    html = make(detail);
  }
  return html;
}

}  // namespace

std::string html(const Report& report) {
  return fitting_page(report.items.size(), [&](const page::Detail& detail) { return page::report_page(report, detail); });
}

std::string html(const Comparison& comparison) {
  return fitting_page(comparison.items.size(), [&](const page::Detail& detail) { return page::comparison_page(comparison, detail); });
}

}  // namespace tunebook::reports
