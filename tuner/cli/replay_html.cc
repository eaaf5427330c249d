#include "cli/replay_html.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "reports/html_page.h"
#include "reports/html_table.h"
#include "reports/html_text.h"
#include "reports/svg_charts.h"

namespace tunebook::cli {
namespace {

using namespace reports::page;

// Best over optimum, minus 1, from 0.1 % to 100 %.
std::string curves(const std::vector<const StrategyScore*>& scores) {
  std::vector<Line> lines;
  for (const StrategyScore* score : scores) {
    Line& line = lines.emplace_back(Line{score->strategy, {}});
    for (const auto& [evaluations, ratio] : score->curve) line.points.emplace_back(static_cast<double>(evaluations), ratio - 1);
  }
  const std::vector<std::pair<double, std::string>> ticks = {{0.001, "0.1 %"}, {0.01, "1 %"}, {0.05, "5 %"}, {0.1, "10 %"}, {1.0, "100 %"}};
  return lines_svg(lines, 0.001, 1, ticks, "evaluations",
                   fmt::format("How far the best found lies above the optimum of {}, against evaluations; the table has the numbers.", scores.front()->space));
}

// One row for each strategy, marked with the colour of its curve.
class ScoreTable {
 public:
  explicit ScoreTable(std::string_view caption)
      : table_(caption, {{"strategy"}, {"P", "n"}, {"95 % interval", "n"}, {"evaluations to 5 %", "n"}, {"best/optimum after 50", "n"}, {"100", "n"}, {"200", "n"}, {"500", "n"}},
               {.classes = "sort", .hide_caption = true}) {}

  template <typename Score>
  void add(const Score& score, const std::string& beyond) {
    const std::string colour = fmt::format("<svg viewBox=\"0 0 12 12\" aria-hidden=\"true\"><path class=\"s{}\" d=\"M0 0H12V12H0z\"/></svg>", table_.rows() % 8);
    table_.row();
    table_.cell(fmt::format("<span class=\"swatch\">{}{}</span>", colour, isolated(score.strategy)));
    table_.cell(fmt::format("{:.3f}", score.performance.value));
    table_.cell(fmt::format("[{:.3f}, {:.3f}]", score.performance.low, score.performance.high), score.performance.low);
    const auto& evaluations = score.evaluations_to_5_percent;
    table_.cell(evaluations ? fmt::format("{:.0f}", *evaluations) : escape(beyond), evaluations.value_or(std::numeric_limits<double>::quiet_NaN()));
    for (const auto& [mark, ratio] : score.best_over_optimum) {
      table_.cell(fmt::format("{:.3f} <span class=\"muted note\">[{:.3f}, {:.3f}]</span>", ratio.value, ratio.low, ratio.high), ratio.value);
    }
  }
  std::string finish() && { return std::move(table_).finish(); }

 private:
  Table table_;
};

}  // namespace

std::string replay_html(const std::vector<StrategyScore>& scores, const std::vector<StrategyMean>& means, const std::string& command) {
  Page page("Strategies on recorded spaces", "<code>" + isolated(command) + "</code>");
  page.add(fmt::format("<p>P: 1 finds the optimum at once, 0 equals random search; {} seeds. In brackets: 95 % intervals (bootstrap over the seeds). Spaces "
                       "with a budget below {} evaluations do not count in the means.</p>\n",
                       scores.empty() ? 0 : scores.front().seeds, kLeastBudget));
  if (!means.empty()) {
    page.section("mean", fmt::format("Mean over {}", plural(static_cast<long long>(means.front().spaces), "space")));
    ScoreTable table("Mean scores of the strategies");
    for (const StrategyMean& mean : means) table.add(mean, "-");
    page.add(std::move(table).finish());
  }
  if (!scores.empty()) page.section("spaces", "Each space");
  for (std::size_t first = 0; first < scores.size();) {
    std::vector<const StrategyScore*> group;
    for (const StrategyScore& score : scores) {
      if (score.space == scores[first].space) group.push_back(&score);
    }
    ScoreTable table(fmt::format("Scores of the strategies on {}", group.front()->space));
    for (const StrategyScore* score : group) table.add(*score, fmt::format("> {}", score->horizon));
    page.add(fmt::format("<h3>{}</h3><p class=\"muted\">budget {}</p><figure class=\"card\">{}{}</figure>\n", isolated(group.front()->space),
                         plural(static_cast<long long>(group.front()->budget), "evaluation"), curves(group), std::move(table).finish()));
    const std::string& space = scores[first].space;
    while (first < scores.size() && scores[first].space == space) ++first;
  }
  return std::move(page).finish("");
}

}  // namespace tunebook::cli
