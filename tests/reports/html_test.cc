#include "reports/html.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "reports/comparison.h"
#include "reports/html_page.h"
#include "reports/html_table.h"
#include "reports/json.h"
#include "reports/markdown.h"
#include "reports/sample_reports.h"
#include "reports/text.h"

namespace tunebook::reports {
namespace {

using testing::sample_comparison;
using testing::sample_report;
using page::Page;
using page::Table;
using page::page_script;
using page::page_style;

std::size_t count(std::string_view text, std::string_view piece) {
  std::size_t found = 0;
  for (std::size_t at = text.find(piece); at != std::string_view::npos; at = text.find(piece, at + piece.size())) ++found;
  return found;
}

bool contains(std::string_view text, std::string_view piece) { return text.find(piece) != std::string_view::npos; }

// The pieces stand in the text in this order.
void expect_order(const std::string& text, const std::vector<std::string>& pieces) {
  std::size_t at = 0;
  for (const std::string& piece : pieces) {
    const std::size_t found = text.find(piece, at);
    ASSERT_NE(found, std::string::npos) << piece << " is missing or too early";
    at = found + 1;
  }
}

TEST(HtmlPage, ScriptIsSmallAndBothAreAscii) {
  EXPECT_LT(page_script().size(), 5'000u);
  for (const std::string_view text : {page_style(), page_script()}) {
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
    EXPECT_FALSE(contains(text, "</"));
    EXPECT_FALSE(contains(text, "url("));
    EXPECT_FALSE(contains(text, "@import"));
  }
}

TEST(HtmlPage, PolicyAllowsItsOwnStyleAndScriptAlone) {
  Page page("t", "");
  const std::string html = std::move(page).finish("");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(html, found, std::regex("http-equiv=\"Content-Security-Policy\" content=\"([^\"]*)\"")));
  EXPECT_TRUE(std::regex_match(found[1].str(), std::regex("default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; script-src 'sha256-[A-Za-z0-9+/]{43}='; "
                                                          "base-uri 'none'; form-action 'none'")))
      << found[1];
  // The policy stands before what it is about.
  EXPECT_LT(html.find("Content-Security-Policy"), html.find("<style>"));
}

TEST(HtmlPage, NavigationLeadsToEverySection) {
  Page page("t", "");
  page.section("one", "First <one>");
  page.add("<p>x</p>");
  page.section("two", "Second");
  const std::string html = std::move(page).finish("end");
  expect_order(html, {"<nav", "<a href=\"#one\">First &lt;one&gt;</a>", "<a href=\"#two\">", "</nav>", "<main", "<h2 id=\"one\">", "<p>x</p></section>", "<h2 id=\"two\">", "</section>\n</main>"});
}

TEST(HtmlTable, FirstColumnHoldsHeadersOfRows) {
  Table table("Rows <1>", {{"name"}, {"size", "n"}}, {.classes = "sort", .find = "Filter"});
  table.row("chosen");
  table.cell("a");
  table.cell("1,000", 1000.0);
  table.row();
  table.cell("b");
  table.cell("", std::nan(""));
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_EQ(std::move(table).finish(),
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Rows &lt;1&gt;\"><table class=\"sort\" data-find=\"Filter\"><caption>Rows &lt;1&gt;"
            "</caption><thead><tr><th scope=\"col\">name</th><th scope=\"col\" class=\"n\">size</th></tr></thead><tbody>\n"
            "<tr class=\"chosen\"><th scope=\"row\">a<td class=\"n\" data-v=\"1000\">1,000\n"
            "<tr><th scope=\"row\">b<td class=\"n\" data-v=\"\"></tbody></table></div>\n");
}

TEST(HtmlReport, SaysThingsInOrder) {
  const Report report = sample_report({.shapes = 3, .devices = 2, .nights = 3, .trials = 40});
  expect_order(html(report), {"<title>matmul on 2 devices</title>", report.summary, "Exit code 0", "shape \u00d7 device", "<h3>Winners</h3>", ">Per shape</h2>",
                              "Fastest configurations", "Every configuration tried", "Best so far vs evaluations", "Effect of each parameter", "Ladder of presets",
                              "Failures by message", "Trend over nights", "tunebook tune matmul", "<h2 id=\"failures\"", "<h2 id=\"cost\"", "<h2 id=\"trend\"",
                              "<h2 id=\"reproduce\"", "tunebook report --book nightly.db"});
}

TEST(HtmlReport, ShowsTheNumbersOfAnItem) {
  Report report = sample_report({.shapes = 1, .nights = 1, .trials = 40});
  Item& item = report.items[0];
  item.winner->time = TimeEstimate{2960, 2951, 2969};
  item.winner->rates = {46'430, std::nullopt, 90.4, 109.0};
  item.top[0] = *item.winner;
  item.top[0].resources.registers = 168;
  item.top[0].resources.shared_static_bytes = 1024;
  item.top[0].resources.shared_dynamic_bytes = 65'536;
  item.top[0].resources.spill_load_bytes = 8;
  item.top[0].resources.spill_store_bytes = 4;
  const std::string text = html(report);
  expect_order(text, {"2.960 ms, 46,430 GFLOP/s, 90 % of the ceiling, 109 % of the speed of cuBLAS"});
  expect_order(text, {"1, winner", "data-v=\"2960\">2.960", ">[2.951, 2.969]", ">46,430", ">90 %", ">109 %", ">168", ">66,560", ">12"});
}

TEST(HtmlReport, IntervalsClaimNoMoreThanTheyCover) {
  Report report = sample_report({.shapes = 2, .nights = 3, .trials = 10});
  EXPECT_TRUE(contains(html(report), "<th scope=\"col\" class=\"n\">95 % interval</th>"));
  EXPECT_FALSE(contains(html(report), "order statistics"));
  for (Item& item : report.items) {
    item.winner->time->coverage = 0.75;
    for (ConfigurationRow& row : item.top) row.time->coverage = row.finalist ? 0.75 : 0.96;
    for (TrendPoint& point : item.trend) point.time.coverage = 0.9375;
  }
  const std::string text = html(report);
  EXPECT_TRUE(contains(text, "<th scope=\"col\" class=\"n\">75 % interval</th>"));   // of the overview
  EXPECT_TRUE(contains(text, "<th scope=\"col\" class=\"n\">94 % interval</th>"));   // of the nights
  EXPECT_TRUE(contains(text, "] <small class=\"muted\">75 %</small>"));                // of the configurations, where they differ
  EXPECT_TRUE(contains(text, "] <small class=\"muted\">95 %</small>"));
  EXPECT_TRUE(contains(text, "of three processes the interval covers the true median with 75 %"));
  EXPECT_FALSE(contains(text, "95 % interval"));
  report.items[0].winner->time->coverage = 0;
  EXPECT_TRUE(contains(html(report), ">one value"));
}

TEST(HtmlReport, SaysWhatASessionWithoutASearchDid) {
  Report report = sample_report({.shapes = 2, .trials = 10});
  EXPECT_FALSE(contains(html(report), "re-timed"));
  EXPECT_EQ(count(html(report), "<h4>Best so far vs evaluations</h4>"), 2u);
  report.items[1].strategy = "retime";
  report.side.sessions[1].strategy = "retime";
  const std::string text = html(report);
  EXPECT_TRUE(contains(text, "<small class=\"muted\">re-timed</small>"));
  EXPECT_TRUE(contains(text, "; <b>re-timed the standing winner; no search</b>"));
  EXPECT_TRUE(contains(text, "retime</bdi> <small class=\"muted\">re-timed the standing winner; no search</small>"));
  EXPECT_EQ(count(text, "<h4>Best so far vs evaluations</h4>"), 1u);
  EXPECT_EQ(count(text, "<h4>Effect of each parameter</h4>"), 1u);
}

TEST(HtmlReport, NightsThatOnlyTimedAgainAreMarked) {
  Report report = sample_report({.shapes = 2, .nights = 4, .trials = 10});
  const std::string before = html(report);
  EXPECT_FALSE(contains(before, "no search, the standing winner"));
  report.items[0].trend[2].kind = SessionKind::retime;
  report.items[0].trend[3].kind = SessionKind::finalists;
  const std::string text = html(report);
  // In the table behind the picture a word, in the picture and in the table over all another mark, below both what it means.
  EXPECT_TRUE(contains(text, "<td class=\"w\">re-timed<td"));
  EXPECT_TRUE(contains(text, "<td class=\"w\">finalists<td"));
  EXPECT_EQ(count(text, "as the night before"), 2 * 2u) << "of four nights the third had another winner";
  EXPECT_EQ(count(text, "<td class=\"w\">search<td"), 6u);
  EXPECT_EQ(count(text, "no search, the standing winner or the finalists timed again"), 2u);
  EXPECT_EQ(count(text, "l5 5-5 5-5-5z"), 2 * 2u + 2u) << "a diamond each in the picture and the strip, and in the keys";
  EXPECT_TRUE(contains(text, "<td class=\"n\" data-v=\"2\">2")) << "searched on two of four nights";
}

TEST(HtmlReport, KernelsWithoutArithmeticHaveNoRateOfIt) {
  Report report = sample_report({.shapes = 2, .trials = 10});
  for (Item& item : report.items) {
    item.key.kernel = &item == &report.items[0] ? "transpose" : "copy";
    item.flops = 0;
    item.bytes = 1e6;
    item.ceiling.reset();
    item.winner->rates = {std::nullopt, 2'500.0, std::nullopt, 98.0};
  }
  report.items.push_back(report.items[0]);
  report.items.back().key.problem.set("m", std::int64_t{77});
  report.items.push_back(sample_report({.shapes = 1, .trials = 10}).items[0]);
  const std::string text = html(report);
  EXPECT_TRUE(contains(text, "transpose: best GB/s"));
  EXPECT_EQ(count(text, "<td class=\"n\" data-v=\"\">\u2014<td class=\"n\" data-v=\"2500\">2,500"), 3u);
  EXPECT_TRUE(contains(text, ", 2,500 GB/s"));
  for (const std::string& written : {text, to_text(report, false), to_markdown(report), to_json(report).dump()}) {
    EXPECT_FALSE(contains(written, " 0 GFLOP/s"));
    EXPECT_FALSE(contains(written, "\"gflops\":0"));
  }
  EXPECT_TRUE(contains(to_text(report, false), "2.50 TB/s"));
}

TEST(HtmlReport, NamesLeaveOutWhatAllOfAKernelShare) {
  Report report = sample_report({.shapes = 3, .trials = 5});
  const auto set = [&](std::size_t i, const char* kernel, std::int64_t m, const char* mode) {
    ItemKey& key = report.items[i].key;
    key.kernel = kernel;
    key.problem = Problem();
    key.problem.set("m", m);
    key.problem.set("mode", std::string(mode));
    key.problem.set("dtype", std::string("f32"));
  };
  set(0, "first", 1, "plain");
  set(1, "first", 2, "plain");
  set(2, "second", 3, "odd");
  const std::string text = html(report);
  EXPECT_TRUE(contains(text, "all with dtype=f32; first with mode=plain"));
  EXPECT_TRUE(contains(text, ">first m=2<"));
  EXPECT_TRUE(contains(text, ">second m=3, mode=odd<"));
}

TEST(HtmlReport, ARetimedShapeKeepsTheSearchBeforeIt) {
  Report report = sample_report({.shapes = 2, .trials = 60});
  Item& item = report.items[0];
  Item search = item;
  search.session_id = "5ea4c0";
  search.date = "2026-10-31";
  item.strategy = "retime";
  item.trials.clear();
  item.convergence.clear();
  item.effects.clear();
  item.trial_count = 2;
  item.search.push_back(search);
  const std::string text = html(report);
  const std::size_t from = text.find("id=\"item-1\"");
  expect_order(text.substr(from, text.find("id=\"item-2\"") - from), {"Fastest configurations", "The search before it, <bdi>2026-10-31", "5ea4c0", "Every configuration tried",
                                                                     "Best so far vs evaluations", "Effect of each parameter", "Ladder of presets"});
  const auto json = to_json(report);
  EXPECT_EQ(json["items"][0]["search"]["session"], "5ea4c0");
  EXPECT_EQ(json["items"][0]["search"]["trials"].size(), search.trials.size());
  EXPECT_TRUE(json["items"][1]["search"].is_null());
}

TEST(HtmlReport, NotesKeepOptionsTogetherAndStayText) {
  Report report = sample_report({.shapes = 1, .trials = 5});
  report.notes = {"tune with --finalist-processes 10", "<i> --x</i>", std::string(600, 'n') + " --long"};
  const std::string text = html(report);
  EXPECT_TRUE(contains(text, "tune with <span class=\"unbroken\">--finalist-processes</span> 10"));
  EXPECT_TRUE(contains(text, "&lt;i&gt; <span class=\"unbroken\">--x</span>&lt;/i&gt;"));
  EXPECT_TRUE(contains(text, " --long</pre>"));
}

TEST(HtmlReport, SaysHowManyReachTheirBaseline) {
  Report report = sample_report({.shapes = 3, .trials = 5});
  const double percents[] = {120, 99.6, 52};
  for (std::size_t i = 0; i < 3; ++i) {
    report.items[i].winner->rates.percent_of_baseline = percents[i];
    report.items[i].baseline = BaselineResult{.operation = "gemm", .name = "cuBLAS 13.1.0"};
  }
  const std::string text = html(report);
  EXPECT_TRUE(contains(text, "2 of 3 reach the speed of their baseline; furthest behind: <a href=\"#item-3\">")) << "99.6 % is shown as 100 %";
  EXPECT_TRUE(contains(text, "52 % of <bdi>cuBLAS</bdi>"));
}

TEST(HtmlReport, PictureAndTableBehindItAgree) {
  const Report report = sample_report({.shapes = 1, .nights = 12, .trials = 100});
  const std::string text = html(report);
  std::size_t charts = 0;
  for (std::size_t at = text.find("<figure"); at != std::string::npos; at = text.find("<figure", at + 1)) {
    const std::string figure = text.substr(at, text.find("</figure>", at) - at);
    const std::size_t from = figure.find("<g class=\"m\">");
    ASSERT_NE(from, std::string::npos);
    const std::string marks = figure.substr(from, figure.find("</g>", from) - from);
    EXPECT_EQ(count(marks, "<circle") + count(marks, "<path"), count(figure, "<tr") - 1);
    ++charts;
  }
  EXPECT_EQ(charts, 3u);
  // Every kind of failure has its own mark, and the key says how many there were.
  for (const auto& [outcome, trials] : report.items[0].outcomes) {
    if (outcome == Outcome::wrong_result) {
      EXPECT_TRUE(contains(text, "wrong result (" + std::to_string(trials) + ")"));
    }
  }
}

TEST(HtmlReport, TellsTimesOfOtherDevicesApart) {
  Report report = sample_report({.shapes = 2, .trials = 10});
  EXPECT_FALSE(contains(html(report), "predict nothing for a GPU"));
  report.items[1].key.device_kind = "cpu";
  EXPECT_TRUE(contains(html(report), "predict nothing for a GPU"));
}

TEST(HtmlReport, AMapOfTimesOfOneDeviceIsLeftOut) {
  Report report = sample_report({.shapes = 3, .devices = 2, .trials = 10});
  EXPECT_TRUE(contains(html(report), "shape \u00d7 device"));
  for (Item& item : report.items) item.winner->rates = {};
  EXPECT_TRUE(contains(html(report), "Best time, shape \u00d7 device"));
  report.items.resize(3);
  EXPECT_FALSE(contains(html(report), "shape \u00d7 device"));
}

TEST(HtmlReport, MarksWhatWasNeverTuned) {
  const std::string text = html(sample_report({.shapes = 5, .devices = 5, .trials = 10}));
  EXPECT_EQ(count(text, "class=\"n text never\""), 1u);
  EXPECT_TRUE(contains(text, "<span class=\"hide\">never tuned</span>"));
}

TEST(HtmlReport, WorksWithoutWinnersWorkTrialsOrItems) {
  EXPECT_TRUE(contains(html(Report()), "</html>"));
  Report report = sample_report({.shapes = 2, .trials = 10});
  Item bare;
  bare.key = report.items[0].key;
  bare.finished = false;
  report.items[0] = bare;
  report.items[1] = bare;
  report.items[1].finished = true;
  const std::string text = html(report);
  EXPECT_TRUE(contains(text, "No winner for 2 items"));
  EXPECT_TRUE(contains(text, "not finished"));
  EXPECT_FALSE(contains(text, "nan"));
  EXPECT_FALSE(contains(text, "inf "));
}

TEST(HtmlReport, StaysSmall) {
  for (const auto& size : {testing::SampleSize{.shapes = 1, .trials = 3'000}, {.shapes = 40, .nights = 12, .trials = 300}, {.shapes = 150, .nights = 40, .trials = 6}}) {
    const std::string text = html(sample_report(size));
    EXPECT_LT(text.size(), kMostHtmlBytes);
    // It is not small by leaving out everything.
    EXPECT_GT(text.size(), 150'000u);
  }
}

TEST(HtmlReport, ThinningKeepsTheBestAndTheWorst) {
  Report report = sample_report({.shapes = 1, .trials = 7'000});
  Item& item = report.items[0];
  item.trials[4'711].time_us = 0.0123456;
  item.trials[4'711].outcome = Outcome::ok;
  item.trials[6'000].time_us = 9.87654e6;
  item.trials[6'000].outcome = Outcome::abandoned;
  const std::string text = html(report);
  EXPECT_TRUE(contains(text, "<tr><th scope=\"row\">4712<td>0.01235"));
  EXPECT_TRUE(contains(text, "<tr><th scope=\"row\">6001<td>"));
  EXPECT_TRUE(contains(text, "of 7,000 trials"));
}

TEST(HtmlComparison, SaysThingsInOrder) {
  const Comparison comparison = sample_comparison({.shapes = 7, .nights = 3, .trials = 40});
  const std::string text = html(comparison);
  expect_order(text, {"class=\"verdict bad\"", counts_text(comparison), "gate \u00b12.0 %", "Exit code 3 (fails on: regression)", "Worst:", "+8.3 %", "[+7.1, +9.5]", "<h2 id=\"environments\"",
                      "matters, allowed", "<h2 id=\"flags\"", "another winner:", "BM 128 \u2192 64, STAGES 2 \u2192 3", "<h2 id=\"changes\"", "<h2 id=\"overview\"",
                      "<h2 id=\"shapes\"", "<h2 id=\"failures\"", "<h2 id=\"cost\"", "<h2 id=\"trend\"", "<h2 id=\"reproduce\"", "tunebook compare nightly.db"});
  // Verdicts are words, and their signs are not read out.
  EXPECT_GE(count(text, "<span aria-hidden=\"true\">\u25b2 </span>regression"), 3u);
  EXPECT_EQ(count(text, "\u25b2"), count(text, "<span aria-hidden=\"true\">\u25b2 </span>regression"));
  EXPECT_EQ(count(text, "\u25bc"), count(text, "<span aria-hidden=\"true\">\u25bc </span>improvement"));
  // The forest plot has a row and a band for every item.
  EXPECT_EQ(count(text, "<td class=\"plot\"><svg aria-hidden=\"true\"><rect class=\"band\""), 7u);
}

TEST(HtmlComparison, SaysWhatIntervalsOfEachSideCover) {
  Comparison comparison = sample_comparison({.shapes = 1, .trials = 10});
  comparison.items[0].base_time->coverage = 0.75;
  comparison.items[0].candidate_time->coverage = 0.75;
  const std::string text = html(comparison);
  const std::size_t sides = text.find("Both sides of");
  const std::string table = text.substr(sides, text.find("</table>", sides) - sides);
  EXPECT_TRUE(contains(table, "75 % interval"));
  EXPECT_FALSE(contains(table, "95 % interval"));
  EXPECT_TRUE(contains(text, "95 % interval"));  // of the change
}

TEST(HtmlComparison, ShowsEnergiesAndTheSameSession) {
  Comparison comparison = sample_comparison({.shapes = 2, .trials = 10});
  EXPECT_FALSE(contains(html(comparison), "mJ"));
  ComparedItem& item = comparison.items[0];
  item.base_energy_j = 0.02;
  item.candidate_energy_j = 0.018;
  item.energy_change = -0.1;
  comparison.items[1].same_session = true;
  const std::string text = html(comparison);
  EXPECT_GE(count(text, "20.00 mJ \u2192 18.00 mJ, \u221210.0 %"), 3u);  // regressions, changes, the item
  EXPECT_TRUE(contains(text, "the same session on both sides"));
}

TEST(HtmlComparison, SaysWhyAGateIsRefused) {
  Comparison comparison = sample_comparison({.shapes = 2, .trials = 10});
  comparison.gate_refused = true;
  comparison.exit_code = 2;
  comparison.differences[0].allowed = false;
  const std::string text = html(comparison);
  EXPECT_TRUE(contains(text, "Exit code 2 (refused as a gate: the environments differ)"));
  EXPECT_TRUE(contains(text, "<span class=\"bad\">no gate</span>"));
}

TEST(HtmlComparison, ShowsItemsOfOneSide) {
  Comparison comparison = sample_comparison({.shapes = 3, .trials = 10});
  comparison.items[1].base.reset();
  comparison.items[1].base_time.reset();
  comparison.items[1].change = comparison.items[1].change_low = comparison.items[1].change_high = std::nullopt;
  comparison.items[1].verdict = Verdict::only_candidate;
  comparison.items[2].candidate.reset();
  comparison.items[2].candidate_time.reset();
  comparison.items[2].change = comparison.items[2].change_low = comparison.items[2].change_high = std::nullopt;
  comparison.items[2].verdict = Verdict::only_base;
  const std::string text = html(comparison);
  EXPECT_TRUE(contains(text, "only in candidate"));
  EXPECT_TRUE(contains(text, "only in base"));
}

// What a browser would take for a tag or an attribute of its own must come from the writer, whatever the texts are: the tags of a hostile
// report are those of a harmless one.
TEST(HtmlHostile, TextsAreNoMarkup) {
  const std::set<std::string> allowed = {"a",  "b",    "bdi", "body", "br",  "caption", "circle", "code", "dd",   "details", "div",     "dl",      "doctype", "dt", "figcaption", "figure", "footer", "g",
                                         "h1", "h2",   "h3",  "h4",   "head", "header", "html",   "li",   "line", "main",    "meta",    "nav",     "p",       "path", "polyline", "pre",    "rect",   "script",
                                         "section", "small", "span", "style", "summary", "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr", "ul"};
  for (const std::string& text : {html(testing::hostile_report(30)), html(testing::hostile_comparison(30))}) {
    EXPECT_LT(text.size(), kMostHtmlBytes);
    EXPECT_EQ(count(text, "<script"), 1u);
    EXPECT_EQ(count(text, "</script"), 1u);
    EXPECT_EQ(count(text, "</style"), 1u);
    const std::string body = text.substr(text.find("<body>"), text.rfind("<script>") - text.find("<body>"));
    for (std::size_t at = body.find('<'); at != std::string::npos; at = body.find('<', at + 1)) {
      std::size_t from = at + (body[at + 1] == '/' ? 2 : 1), end = from;
      while (std::isalnum(static_cast<unsigned char>(body[end])) != 0) ++end;
      EXPECT_EQ(allowed.count(body.substr(from, end - from)), 1u) << body.substr(at, 80);
    }
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      ASSERT_TRUE(byte >= 0x20 || c == '\n' || c == '\t') << static_cast<int>(byte);
      ASSERT_NE(byte, 0x7F);
    }
    EXPECT_FALSE(contains(text, "\u202e"));
    EXPECT_FALSE(contains(text, "\xff"));
    EXPECT_TRUE(contains(text, "&lt;script&gt;document.title=&#39;owned&#39;&lt;/script&gt;"));
    EXPECT_TRUE(contains(text, "[U+202E]"));
    EXPECT_TRUE(contains(text, "escape[U+001B][31m nul[U+0000]"));
  }
}

}  // namespace
}  // namespace tunebook::reports
