#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/html_text.h"
#include "reports/interval_names.h"
#include "reports/report.h"
#include "reports/svg_charts.h"

// Parts that the pages of reports and of comparisons share, for one item and for all. What they return is HTML.
namespace tunebook::reports::page {

// How much of its data a page shows; html() takes less where a page would be too large otherwise.
struct Detail {
  std::size_t points = 1'000;   // trials of an item
  std::size_t pictures = 200;   // items with trials, convergence and effects
  std::size_t items = 1'000;    // with any details; others are only named
  std::size_t top = 12;         // configurations of an item
  std::size_t sessions = 200;
  std::size_t text = 8'000;     // bytes of a text that is shown cut at first
};

// The parts of keys that tell the items of a page apart: the shape, and what else differs between them.
class ItemNaming {
 public:
  explicit ItemNaming(std::span<const ItemKey* const> keys);
  // "matmul m=1, n=k=4096 on NVIDIA H200"; plain text.
  std::string text(const ItemKey& key) const;
  std::string html(const ItemKey& key) const;
  // The sizes that all items share, or all of a kernel, and that no name repeats: "all with dtype=f32; matmul with ta=n,tb=n"; plain text, ""
  // if there are none.
  std::string shared() const;
  bool device() const { return device_; }

 private:
  bool is_shared(const ItemKey& key, const std::string& name) const;

  bool kernel_ = false, device_ = false, method_ = false, objective_ = false;
  Problem shared_;                                // by all
  std::map<std::string, Problem> kernel_shared_;  // besides, by all of one of several kernels
};

// "BM=64, BN=128, ..."; values that differ from those of `other` are emphasised.
std::string configuration_html(const Configuration& configuration, const Configuration* other, const Detail& detail);
// The same for a cell of a wide table: a long one is cut, with the whole on resting, on opening by pointer or keyboard, and on paper.
std::string short_configuration_html(const Configuration& configuration, const Detail& detail);
// "as the winner, but STAGES=4": what differs from the winner's, if it has many parameters and most are alike.
std::string differing_html(const Configuration& configuration, const Configuration* other, const Detail& detail);
// Names of values and problems.
std::string values_html(const NamedValues& values, const Detail& detail);

// A list of terms (plain) and what they are (HTML). Rows without a value are left out.
std::string facts(const std::vector<std::pair<std::string_view, std::string>>& rows);

// "2026-11-29 03:10" of an instant in ISO 8601.
std::string instant_text(std::string_view utc);
// "[2.951, 2.969]", with what it covers where `names` does not say it for the whole column; "one value" without an interval.
std::string interval_html(const TimeEstimate& time, const TimeUnit& unit, const IntervalNames& names);
// What the intervals of all these items cover, once for a page: IntervalNames::legend() as a paragraph.
std::string interval_legend(std::span<const Item> items);
// "12.30 mJ"; "" without one.
std::string energy_text(const std::optional<double>& joules);
// "cuBLAS" of "cuBLAS 13.1.0": a version is for the details. Plain text; "" without a baseline.
std::string baseline_name(const Item& item);
// What a session did that was no search, in words: "re-timed the standing winner; no search"; "" of a search.
std::string kind_html(SessionKind kind);
// The number of trials, and in a word why they are few.
std::string trials_html(const Item& item);
// "46,400" or, without a value, "".
std::string optional_number(const std::optional<double>& number);
std::string optional_percent(const std::optional<double>& percent);
double or_nan(const std::optional<double>& number);

std::string outcome_text(Outcome outcome);  // "wrong result"
// "1,649 ok, 31 compile error": how all trials ended.
std::string outcomes_text(std::span<const std::pair<Outcome, std::int64_t>> outcomes);
std::string failures_table(std::span<const FailureGroup> failures, std::int64_t groups, const Detail& detail);
std::string cost_table(const Cost& cost);
// What a trend's point says besides its time: another configuration, another kernel, a changed environment.
std::string night_changes(const TrendPoint& point);
// "search", "re-timed", "finalists": what the session of a night did.
std::string night_kind(SessionKind kind);
std::vector<NightMark> night_marks(std::span<const TrendPoint> trend);
// What the marks of these nights mean, of those that occur.
std::string nights_key(std::span<const NightMark> nights);
// "driver 580 · CUDA 13.0": the values of an environment.
std::string environment_line(std::span<const Labelled> environment);
std::string notes_list(std::span<const std::string> notes, const Detail& detail);
// The book, what narrowed it, the environment, and the sessions, closed.
std::string side_facts(const Side& side, const Detail& detail);

}  // namespace tunebook::reports::page
