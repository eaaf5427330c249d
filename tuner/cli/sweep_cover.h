#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/learned_model.h"
#include "sweep/cover_planner.h"
#include "sweep/plan.h"

namespace tunebook::cli {

// What the book at `book` knows of a plan's regions; with LearnPurpose::kept the models that it
// learns are put into the book, where the sessions find them. Each device is asked once what it is;
// of one that cannot be asked nothing is known. `note` is told why.
CoverSource cover_source(const SweepPlan& plan, const std::filesystem::path& book,
                         LearnPurpose purpose, std::function<void(const std::string&)> note);

// What `sweep --dry-run` says of regions: how far they are, and what would be tuned first and why.
// kShownChoices shapes, chosen as if nothing were learned from one to the next.
inline constexpr std::size_t kShownChoices = 5;
nlohmann::ordered_json preview_regions(CoverPlanner& planner);
void print_regions(const nlohmann::ordered_json& preview);

// Throws InputError if the plan has regions: what is tuned next depends on what was learned before,
// so that nothing can be frozen.
void refuse_regions(const SweepPlan& plan);

}  // namespace tunebook::cli
