#include "reports/html_text.h"

#include <string>

#include <gtest/gtest.h>

#include "core/random.h"

namespace tunebook::reports::page {
namespace {

TEST(HtmlText, EscapesMarkup) {
  EXPECT_EQ(escape("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(escape("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(escape("m\u00b2 \u05e9\u05dc \U0001F600"), "m\u00b2 \u05e9\u05dc \U0001F600");
  EXPECT_EQ(isolated("<"), "<bdi>&lt;</bdi>");
}

TEST(HtmlText, ControlsBecomeVisible) {
  EXPECT_EQ(escape(std::string_view("\0\x07\x1b\r\x7f", 5)), "[U+0000][U+0007][U+001B][U+000D][U+007F]");
  EXPECT_EQ(escape("\u0085\u202e\u2066\u2069\u200f\u061c"), "[U+0085][U+202E][U+2066][U+2069][U+200F][U+061C]");
  EXPECT_EQ(escape("\uFFFE\uFDD0"), "\uFFFD\uFFFD");
}

TEST(HtmlText, BrokenUtf8IsReplaced) {
  EXPECT_EQ(escape("a\xff"), "a\uFFFD");
  EXPECT_EQ(escape("\xc3\x28"), "\uFFFD(");
  EXPECT_EQ(escape("\xe2\x82"), "\uFFFD\uFFFD");                      // ends too early
  EXPECT_EQ(escape("\xc0\xbc"), "\uFFFD\uFFFD");                      // '<' in an overlong form
  EXPECT_EQ(escape("\xe0\x80\xbc"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(escape("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");            // a surrogate
  EXPECT_EQ(escape("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond U+10FFFF
  EXPECT_EQ(escape("\xf5\x80\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
}

// Whatever the bytes: no markup, no controls, no bytes that are no UTF-8 (escaping again finds nothing to replace).
TEST(HtmlText, AnyBytesAreHarmless) {
  Random random(5);
  for (int round = 0; round < 2'000; ++round) {
    std::string bytes;
    for (std::uint64_t i = random.below(40); i > 0; --i) bytes += static_cast<char>(random.below(256));
    const std::string text = escape(bytes);
    EXPECT_EQ(text.find_first_of("<>\"'"), std::string::npos);
    for (const char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t');
    std::string again = escape(text);
    for (std::size_t at = again.find("&amp;"); at != std::string::npos; at = again.find("&amp;", at + 1)) again.erase(at + 1, 4);
    EXPECT_EQ(again, text);
    // Cut anywhere, a valid text stays valid.
    const std::string shorter = cut(text, random.below(text.size() + 1));
    EXPECT_EQ(escape(shorter).find("\uFFFD") == std::string::npos || text.find("\uFFFD") != std::string::npos, true);
  }
}

TEST(HtmlText, LongTextsAreCutAndKept) {
  EXPECT_EQ(cut("abcdef", 6), "abcdef");
  EXPECT_EQ(cut("abcdef", 5), "abcde...");
  EXPECT_EQ(cut("a\u00e9b", 2), "a...");
  EXPECT_EQ(long_text("short\n"), "<bdi>short</bdi>");
  EXPECT_EQ(long_text("first\nsecond"), "<details class=\"long\"><summary><bdi>first ...</bdi></summary><pre dir=\"auto\">first\nsecond</pre></details>");
  EXPECT_EQ(long_text("abcdef", 3, 5), "<details class=\"long\"><summary><bdi>abc...</bdi></summary><pre dir=\"auto\">abcde...</pre></details>");
  EXPECT_EQ(listed("A=1,B=2"), "<bdi>A=1,<wbr>B=2</bdi>");
}

TEST(HtmlText, Numbers) {
  EXPECT_EQ(time_text(2.4567), "2.457 us");
  EXPECT_EQ(time_text(2960), "2.960 ms");
  EXPECT_EQ(time_text(12'345'678), "12.35 s");
  EXPECT_EQ(in_unit(16'500, time_unit(1'200)), "16.50");
  EXPECT_EQ(number_text(51'432.4), "51,432");
  EXPECT_EQ(number_text(1'234'567), "1,234,567");
  EXPECT_EQ(number_text(0.0123), "0.01230");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(std::stod("nan")), "-");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1'000), "1,000");
  EXPECT_EQ(count_text(-1'000'000), "-1,000,000");
  EXPECT_EQ(change_text(0.083), "+8.3 %");
  EXPECT_EQ(change_text(-0.064), "\u22126.4 %");
  EXPECT_EQ(change_text(0.0004), "0.0 %");
  EXPECT_EQ(change_text(-0.0004), "0.0 %");
  EXPECT_EQ(change_text(12.5), "+1,250 %");
  EXPECT_EQ(percent_text(7.46), "7.5 %");
  EXPECT_EQ(percent_text(92.4), "92 %");
  EXPECT_EQ(duration_text(3.14159), "3.14 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7'500), "2 h 5 min");
  EXPECT_EQ(plural(1, "shape"), "1 shape");
  EXPECT_EQ(plural(1'200, "shape"), "1,200 shapes");
}

}  // namespace
}  // namespace tunebook::reports::page
