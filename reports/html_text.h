#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// Texts and numbers of a report as pieces of an HTML page. Whatever comes from a book goes through here.
namespace tunebook::reports::page {

// Text that is safe between tags, in quoted attributes and in SVG. Besides & < > " ' it makes visible what would act on the reader's
// display instead of being read: invalid UTF-8 becomes U+FFFD; control characters, and the bidirectional controls with which a text
// could leave its isolation (Unicode annex 9), are written as [U+202E]. Line feeds and tabs stay.
std::string escape(std::string_view text);

// The same as an isolated piece of running text: <bdi>.
std::string isolated(std::string_view text);

// At most `bytes` bytes of UTF-8, cut between characters; "..." says that it was cut.
std::string cut(std::string_view text, std::size_t bytes);

// Isolated; what is longer than `bytes`, or has several lines, is cut and has the whole text (up to `most` bytes) in details.
std::string long_text(std::string_view text, std::size_t bytes = 160, std::size_t most = 12'000);

// The same of a list like "BM=64,BN=128", which may be broken after its commas.
std::string listed(std::string_view text, std::size_t bytes = 160, std::size_t most = 12'000);

// A unit in which the times of one table or picture are written.
struct TimeUnit {
  std::string_view name;  // "us", "ms", "s"
  double us = 1;
};
TimeUnit time_unit(double typical_us);
// Four significant digits, without the unit.
std::string in_unit(double us, const TimeUnit& unit);
// "2.960 ms"
std::string time_text(double us);
// "12.4 s", "3 min 20 s", "2 h 5 min"
std::string duration_text(double seconds);
// Four significant digits and thousands separators: "51,400", "0.01234".
std::string number_text(double number);
std::string count_text(long long count);
// "+8.3 %", "-0.4 %"; with U+2212 as its minus.
std::string change_text(double share);
// "92 %", "7.5 %"
std::string percent_text(double percent);
// "1 shape", "7 shapes"
std::string plural(long long count, std::string_view noun);

}  // namespace tunebook::reports::page
