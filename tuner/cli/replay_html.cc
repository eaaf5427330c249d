#include "cli/replay_html.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace tunebook::cli {
namespace {

std::string escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

// Colours that colour-blind readers tell apart (Okabe & Ito).
constexpr std::array<std::string_view, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"};

constexpr double kWidth = 420;
constexpr double kHeight = 240;
constexpr double kLeft = 48;
constexpr double kBottom = 28;
constexpr double kTop = 10;

// Best over optimum, minus 1, on a logarithmic scale from 0.1 % to 100 %; evaluations on a logarithmic scale.
std::string curves_svg(const std::vector<const StrategyScore*>& scores) {
  constexpr double kLeast = 0.001;
  constexpr double kMost = 1;
  const double horizon = static_cast<double>(std::max<std::uint64_t>(2, scores.front()->horizon));
  const auto x = [&](double k) { return kLeft + (kWidth - kLeft - 8) * std::log(k) / std::log(horizon); };
  const auto y = [&](double excess) {
    const double share = std::log(std::clamp(excess, kLeast, kMost) / kLeast) / std::log(kMost / kLeast);
    return kTop + (kHeight - kTop - kBottom) * (1 - share);
  };
  std::string svg = fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" role=\"img\">", kWidth, kHeight, kWidth);
  for (const auto& [excess, label] : {std::pair{0.001, "0.1 %"}, {0.01, "1 %"}, {0.05, "5 %"}, {0.1, "10 %"}, {1.0, "100 %"}}) {
    svg += fmt::format("<line x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/><text x=\"{:.0f}\" y=\"{:.1f}\" "
                       "text-anchor=\"end\">{}</text>", kLeft, kWidth - 8, y(excess), y(excess), kLeft - 4, y(excess) + 4, label);
  }
  for (double k = 1; k <= horizon; k *= 10) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{:.0f}</text>", x(k), kHeight - 10, k);
  }
  for (std::size_t s = 0; s < scores.size(); ++s) {
    std::string points;
    for (const auto& [k, ratio] : scores[s]->curve) points += fmt::format("{:.1f},{:.1f} ", x(static_cast<double>(k)), y(ratio - 1));
    svg += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" points=\"{}\"><title>{}</title></polyline>",
                       kColours[s % kColours.size()], points, escape(scores[s]->strategy));
  }
  return svg + "</svg>";
}

std::string evaluations_text(const std::optional<double>& evaluations, std::uint64_t horizon) {
  return evaluations ? fmt::format("{:.0f}", *evaluations) : fmt::format("&gt; {}", horizon);
}

std::string row(const std::string& name, const Estimate& performance, const std::string& evaluations,
                const std::vector<std::pair<std::uint64_t, Estimate>>& ratios, std::string_view colour) {
  std::string cells = fmt::format("<tr><th><span style=\"color:{}\">&#9632;</span> {}</th><td title=\"95 % interval {:.3f} to {:.3f}\">{:.3f}"
                                  "</td><td>{}</td>", colour, escape(name), performance.low, performance.high, performance.value, evaluations);
  for (const auto& [mark, ratio] : ratios) {
    cells += fmt::format("<td title=\"95 % interval {:.3f} to {:.3f}\">{:.3f}</td>", ratio.low, ratio.high, ratio.value);
  }
  return cells + "</tr>\n";
}

constexpr std::string_view kHead = "<table><tr><th>strategy</th><th>P</th><th>evaluations to 5 %</th><th>best/optimum after 50</th>"
                                   "<th>100</th><th>200</th><th>500</th></tr>\n";

}  // namespace

std::string replay_html(const std::vector<StrategyScore>& scores, const std::vector<StrategyMean>& means, const std::string& command) {
  std::string html =
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Strategies on recorded spaces</title><style>"
      "body{font:15px system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222}"
      "table{border-collapse:collapse;margin:.5em 0}td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #eee}"
      "th:first-child{text-align:left}section{display:flex;flex-wrap:wrap;gap:1em;align-items:start}svg text{font-size:10px;fill:#555}"
      "@media(prefers-color-scheme:dark){body{background:#fff}}</style><h1>Strategies on recorded spaces</h1>\n";
  html += fmt::format("<p><code>{}</code></p>", escape(command));
  html += fmt::format("<p>P: 1 finds the optimum at once, 0 equals random search; {} seeds. Intervals (95 %, bootstrap over the seeds) show "
                      "when the pointer rests on a number. Spaces with a budget below {} evaluations do not count in the means.</p>\n",
                      scores.empty() ? 0 : scores.front().seeds, kLeastBudget);
  if (!means.empty()) {
    html += fmt::format("<h2>Mean over {} spaces</h2>{}", means.front().spaces, kHead);
    for (std::size_t s = 0; s < means.size(); ++s) {
      const std::string evaluations = means[s].evaluations_to_5_percent ? fmt::format("{:.0f}", *means[s].evaluations_to_5_percent) : "-";
      html += row(means[s].strategy, means[s].performance, evaluations, means[s].best_over_optimum, kColours[s % kColours.size()]);
    }
    html += "</table>\n";
  }
  for (std::size_t first = 0; first < scores.size();) {
    std::vector<const StrategyScore*> group;
    for (const StrategyScore& score : scores) {
      if (score.space == scores[first].space) group.push_back(&score);
    }
    html += fmt::format("<h2>{}</h2><p>budget {} evaluations</p><section>{}", escape(group.front()->space), group.front()->budget, kHead);
    for (std::size_t s = 0; s < group.size(); ++s) {
      html += row(group[s]->strategy, group[s]->performance, evaluations_text(group[s]->evaluations_to_5_percent, group[s]->horizon),
                  group[s]->best_over_optimum, kColours[s % kColours.size()]);
    }
    html += "</table>" + curves_svg(group) + "</section>\n";
    const std::string& space = scores[first].space;
    while (first < scores.size() && scores[first].space == space) ++first;
  }
  return html + "</html>\n";
}

}  // namespace tunebook::cli
