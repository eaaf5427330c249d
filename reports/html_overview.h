#pragma once

#include <span>
#include <string>
#include <vector>

#include "reports/html_parts.h"
#include "reports/report.h"

// Tables over all items of a page. `ids` are the anchors of the items' details, one for each.
namespace tunebook::reports::page {

// Shape x device for each kernel, method and objective: rates (or times, where the work is not known) with the percentage of the ceiling,
// shaded by it; cells without an item are marked as never tuned. Empty if there is a single item.
std::string heat_maps(std::span<const Item> items, std::span<const std::string> ids);

// One row for each item: time, rates, percentages, trials.
std::string items_table(std::span<const Item> items, std::span<const std::string> ids, const ItemNaming& naming, const Detail& detail);

// One row for each item with several nights, detail.items at most; empty if there is none.
std::string trend_table(std::span<const Item> items, std::span<const std::string> ids, const ItemNaming& naming, const Detail& detail);

}  // namespace tunebook::reports::page
