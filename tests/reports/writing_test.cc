// What Markdown, terminal text and JSON make of texts from elsewhere.
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/random.h"
#include "reports/json.h"
#include "reports/markdown.h"
#include "reports/text.h"
#include "reports/wording.h"

namespace tunebook::reports {
namespace {

constexpr const char* kHostile = "<script>alert(1)</script>|`x`\n\x1b[31m\xE2\x80\xAE" "evil @user [a](http://b) **c** \\";

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Report hostile_report() {
  Report report;
  report.title = kHostile;
  report.summary = kHostile;
  report.side.label = kHostile;
  report.side.environment = {{kHostile, kHostile}};
  report.notes = {kHostile};
  report.failures = {{Outcome::fault, std::string(10'000, '|') + kHostile, 3, 0, kHostile}};
  Item item;
  item.key.kernel = kHostile;
  item.key.device = kHostile;
  item.key.problem.set(kHostile, std::string(kHostile));
  item.reproduction.command = kHostile;
  item.winner.emplace();
  item.winner->configuration.set(kHostile, std::string(kHostile));
  item.winner->time = TimeEstimate{std::numeric_limits<double>::quiet_NaN(), 1, 2};
  report.items = {item, item};
  return report;
}

Comparison hostile_comparison() {
  Comparison comparison;
  comparison.base = comparison.candidate = hostile_report();
  comparison.title = comparison.verdict_line = kHostile;
  comparison.differences = {{kHostile, kHostile, kHostile, true, false}};
  ComparedItem item;
  item.key = comparison.base.items[0].key;
  item.base = item.candidate = 0;
  item.reason = kHostile;
  item.base_time = item.candidate_time = TimeEstimate{1, 1, 2};
  item.same_configuration = false;
  item.configuration_differences = {{kHostile, kHostile, ""}};
  comparison.items = {item};
  return comparison;
}

void expect_harmless_markdown(const std::string& text) {
  // Outside of code spans nothing is left that could be markup; in code spans (and the indented commands) markup is text.
  std::string outside;
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    const std::string_view whole = std::string_view(text).substr(line, end - line);
    line = end + 1;
    if (whole.starts_with("    ")) continue;
    for (std::size_t at = 0; at < whole.size();) {
      if (whole[at] == '\\' && at + 1 < whole.size()) {
        at += 2;
        continue;
      }
      if (whole[at] != '`') {
        outside += whole[at++];
        continue;
      }
      const std::size_t fence = whole.find_first_not_of('`', at) - at;
      std::size_t close = at + fence;
      for (;;) {  // a run of exactly as many
        close = whole.find('`', close);
        if (close == std::string_view::npos) break;
        const std::size_t run = std::min(whole.find_first_not_of('`', close), whole.size()) - close;
        if (run == fence) break;
        close += run;
      }
      ASSERT_NE(close, std::string_view::npos) << whole;
      // Pipes would end the cell even here.
      const std::string_view code = whole.substr(at, close - at);
      for (std::size_t pipe = code.find('|'); pipe != std::string_view::npos; pipe = code.find('|', pipe + 1)) {
        EXPECT_TRUE(pipe > 0 && code[pipe - 1] == '\\') << code;
      }
      at = close + fence;
    }
    outside += '\n';
  }
  EXPECT_FALSE(has(outside, "<script")) << outside;
  EXPECT_FALSE(has(outside, "alert(1)</")) << outside;
  EXPECT_FALSE(has(outside, "@user"));
  EXPECT_FALSE(has(outside, "http://"));
  EXPECT_FALSE(has(outside, "[a]("));
  EXPECT_FALSE(has(text, "\x1b"));
  EXPECT_FALSE(has(text, "\xE2\x80\xAE"));
  EXPECT_LT(text.size(), 30'000u);
}

TEST(Markdown, NothingOfABookIsMarkup) {
  expect_harmless_markdown(to_markdown(hostile_report()));
  expect_harmless_markdown(to_markdown(hostile_comparison()));
}

TEST(Markdown, RowsOfATableHaveAsManyCells) {
  for (const std::string& text : {to_markdown(hostile_report()), to_markdown(hostile_comparison())}) {
    std::size_t columns = 0;
    for (std::size_t line = 0; line < text.size();) {
      const std::size_t end = std::min(text.find('\n', line), text.size());
      const std::string whole = text.substr(line, end - line);
      line = end + 1;
      if (!whole.starts_with("|")) {
        columns = 0;
        continue;
      }
      std::size_t cells = 0;
      for (std::size_t at = 0; at < whole.size(); ++at) {
        if (whole[at] == '|' && (at == 0 || whole[at - 1] != '\\')) ++cells;
      }
      EXPECT_TRUE(columns == 0 || cells == columns) << whole;
      columns = cells;
    }
  }
}

TEST(Markdown, CodeSpansAreClosedByNothingInThem) {
  EXPECT_EQ(markdown_code("a=1", 100), "`a=1`");
  EXPECT_EQ(markdown_code("a`b``c", 100), "```a`b``c```");
  EXPECT_EQ(markdown_code("`a", 100), "`` `a ``");
  EXPECT_EQ(markdown_code("a|b", 100), "`a\\|b`");
  EXPECT_EQ(markdown_code("", 100), "");
  EXPECT_EQ(markdown_text("a_b <c> & \\ d|e", 100), "a\\_b &lt;c&gt; &amp; \\\\ d\\|e");
}

TEST(Text, OneLineKeepsNothingThatSteersATerminal) {
  EXPECT_EQ(plain::one_line("a\nb\tc", 100), "a b c");
  EXPECT_EQ(plain::one_line("\x1b[31mred\x07", 100), "\xEF\xBF\xBD[31mred\xEF\xBF\xBD");
  EXPECT_EQ(plain::one_line("\xE2\x80\xAE" "abc", 100), "\xEF\xBF\xBD" "abc");
  EXPECT_EQ(plain::one_line("\xD7\xA9\xD7\x9C", 100), "\xD7\xA9\xD7\x9C");  // letters that are written from right to left stay
  EXPECT_EQ(plain::one_line(std::string(200, 'x'), 10), "xxxxxxxxxx...");
  EXPECT_EQ(plain::one_line("\xC3\xA4\xC3\xA4\xC3\xA4", 5), "\xC3\xA4\xC3\xA4...");
  Random random(3);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes(random.below(60), '\0');
    for (char& c : bytes) c = static_cast<char>(random.below(256));
    const std::string line = plain::one_line(bytes, 40);
    EXPECT_LE(line.size(), 43u);
    EXPECT_EQ(line.find_first_of("\n\r\t\x1b"), std::string::npos);
    EXPECT_NO_THROW(nlohmann::json(line).dump());
    EXPECT_NO_THROW(nlohmann::json(markdown_text(bytes, 40)).dump());
  }
}

TEST(Text, HostileReportsHaveNoEscapesWithoutColour) {
  for (const std::string& text : {to_text(hostile_report(), false), to_text(hostile_comparison(), false)}) {
    EXPECT_FALSE(has(text, "\x1b"));
    EXPECT_FALSE(has(text, "\xE2\x80\xAE"));
  }
}

TEST(Text, Words) {
  EXPECT_EQ(plain::change_text(0.083), "+8.3 %");
  EXPECT_EQ(plain::change_text(-0.0004), "0.0 %");
  EXPECT_EQ(plain::change_text(-0.064), "-6.4 %");
  EXPECT_EQ(plain::count_text(1234567), "1,234,567");
  EXPECT_EQ(plain::count_text(123), "123");
  EXPECT_EQ(plain::count_text(-1234), "-1,234");
  Item item;
  Rates rates;
  rates.gflops = 51400;
  rates.gbps = 12.5;
  EXPECT_EQ(plain::rate_text(item, rates), "12.5 GB/s");
  item.flops = 100;
  EXPECT_EQ(plain::rate_text(item, rates), "51.40 TFLOP/s");
  item.bytes = 400;
  EXPECT_EQ(plain::rate_text(item, rates), "12.5 GB/s");
}

// A report of one item whose winner's interval covers so much.
Report report_of_coverage(const std::vector<std::optional<double>>& coverages) {
  Report report;
  for (const std::optional<double>& coverage : coverages) {
    Item item;
    item.key.kernel = "copy";
    item.key.problem.set("n", static_cast<std::int64_t>(report.items.size()));
    item.winner.emplace();
    item.winner->time = TimeEstimate{10, 9, 11, coverage};
    report.items.push_back(item);
  }
  return report;
}

TEST(Intervals, SayWhatTheyCover) {
  EXPECT_EQ(interval_name(0.978515625), "95 % interval");
  EXPECT_EQ(interval_name(0.9375), "94 % interval");
  EXPECT_EQ(interval_name(0.75), "75 % interval");
  EXPECT_EQ(interval_name(0.5), "50 % interval");
  EXPECT_EQ(interval_name(0.0), "one value, no interval");
  EXPECT_EQ(interval_name(std::nullopt), "interval of unknown coverage");
  for (const auto& written : {to_text(report_of_coverage({0.75, 0.75}), false), to_markdown(report_of_coverage({0.75, 0.75}))}) {
    EXPECT_TRUE(has(written, "winner (75 % interval)")) << written;
    EXPECT_TRUE(has(written, "10.00 us (9.00 us to 11.00 us)")) << written;
    EXPECT_FALSE(has(written, "winner (95 %")) << written;
  }
  for (const auto& written : {to_text(report_of_coverage({0.75, 0.97, std::nullopt, 0.0}), false), to_markdown(report_of_coverage({0.75, 0.97, std::nullopt, 0.0}))}) {
    EXPECT_TRUE(has(written, "winner (interval)")) << written;
    EXPECT_TRUE(has(written, "(75 %: 9.00 us to 11.00 us)")) << written;
    EXPECT_TRUE(has(written, "(95 %: 9.00 us to 11.00 us)")) << written;
    EXPECT_TRUE(has(written, "(coverage not known: 9.00 us to 11.00 us)")) << written;
    EXPECT_TRUE(has(written, "us (one value)")) << written;
  }
  const auto json = to_json(report_of_coverage({0.75, std::nullopt}));
  EXPECT_EQ(json["items"][0]["winner"]["time"]["ci_coverage"], 0.75);
  EXPECT_EQ(json["items"][1]["winner"]["time"]["ci_coverage"], nullptr);
}

TEST(Sessions, ThatSearchedNothingSaySo) {
  Report report = report_of_coverage({0.97, 0.97, 0.97});
  report.items[0].strategy = "random";
  report.items[1].strategy = "retime";
  report.items[2].strategy = "finalists";
  for (Item& item : report.items) item.trial_count = 2;
  for (const auto& written : {to_text(report, false), to_markdown(report)}) {
    EXPECT_TRUE(has(written, "2 (re-timed)")) << written;
    EXPECT_TRUE(has(written, "2 (finalists)")) << written;
    EXPECT_TRUE(has(written, "re-timed: the session re-timed the standing winner; no search")) << written;
    EXPECT_TRUE(has(written, "finalists: the session timed the finalists of a search that was cut short; no search of its own")) << written;
  }
  const auto json = to_json(report);
  EXPECT_EQ(json["items"][0]["session_kind"], "search");
  EXPECT_EQ(json["items"][1]["session_kind"], "retime");
  EXPECT_EQ(json["items"][2]["session_kind"], "finalists");
  report.items.resize(1);
  EXPECT_FALSE(has(to_text(report, false), "re-timed"));
}

TEST(Text, EntriesOfAnEnvironmentHaveUnits) {
  using plain::shown_entry;
  EXPECT_EQ(shown_entry({"power limit w", "700.0"}), (Labelled{"power limit", "700 W"}));
  EXPECT_EQ(shown_entry({"max sm clock mhz", "1980.0, 1755.5"}), (Labelled{"max SM clock", "1980 MHz, 1755.5 MHz"}));
  EXPECT_EQ(shown_entry({"memory clock khz", "3201000"}), (Labelled{"memory clock", "3201000 kHz"}));
  EXPECT_EQ(shown_entry({"uuid", "GPU-1"}), (Labelled{"GPU UUID", "GPU-1"}));
  EXPECT_EQ(shown_entry({"ecc", "true"}), (Labelled{"ECC", "yes"}));
  EXPECT_EQ(shown_entry({"host", "here"}), (Labelled{"host", "here"}));
  EXPECT_EQ(shown_entry({"power limit w", ""}), (Labelled{"power limit w", ""}));
}

TEST(Text, Energies) {
  EXPECT_EQ(plain::energy_text(1.234), "1.23 J");
  EXPECT_EQ(plain::energy_text(0.01234), "12.3 mJ");
  EXPECT_EQ(plain::energy_text(1.2e-5), "12 uJ");
  EXPECT_EQ(plain::energy_text(std::nullopt), "-");
  EXPECT_EQ(plain::energy_text(std::numeric_limits<double>::quiet_NaN()), "-");
  Report report = report_of_coverage({0.97, 0.97});
  report.items[1].winner->energy_j = 0.01234;
  for (const auto& written : {to_text(report, false), to_markdown(report)}) EXPECT_TRUE(has(written, "12.3 mJ")) << written;
}

TEST(Json, IsOneLineOfValidJsonWhateverTheTexts) {
  for (const std::string& line : {json_line(to_json(hostile_report())), json_line(to_json(hostile_comparison()))}) {
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json["tunebook_report"], kReportJsonVersion);
    EXPECT_EQ(json["title"], kHostile);
  }
  const auto json = to_json(hostile_report());
  EXPECT_EQ(json["items"][0]["winner"]["time"]["median_us"], nullptr);  // JSON has no NaN
}

}  // namespace
}  // namespace tunebook::reports
