#pragma once

#include <span>
#include <string>

#include "reports/html_parts.h"
#include "reports/report.h"

namespace tunebook::reports::page {

// "2.960 ms, 46,400 GFLOP/s, 90 % of the ceiling": what an item reached, or why there is nothing.
std::string item_summary(const Item& item);

// All that is known of one item, HTML with headings of level 4. `whole` is false for one that a page must leave out the pictures of.
std::string item_html(const Item& item, const Detail& detail, bool whole);

// The part of a page about one item; `name`, `summary` and `before` (what stands above the item's own) are HTML.
struct ItemSection {
  std::string id, name, summary, before;
  const Item* item = nullptr;
};
// All items of a page. Several are closed details, which can be filtered; of these only
// detail.items have something in them and only detail.pictures their pictures: those with most trials.
std::string item_sections(std::span<const ItemSection> sections, const Detail& detail);

// What must be said of times that are no GPU times; empty if all are.
std::string other_devices_note(std::span<const Item> items);

}  // namespace tunebook::reports::page
