#include "sweep/cover_run.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace tunebook {
namespace {

std::set<std::string> ids_of(const SweepState& state) {
  std::set<std::string> ids;
  for (const FrozenItem& frozen : state.plan.items) ids.insert(frozen.item.id());
  return ids;
}

// Where the new item stands in the state.
std::size_t add_item(SweepState& state, FrozenItem frozen) {
  const std::size_t index = state.items.size();
  const bool fresh = frozen.decision.action == Action::fresh;
  state.plan.items.push_back(std::move(frozen));
  state.items.emplace_back();
  if (fresh) {
    state.items.back().status = ItemStatus::fresh;
    return index;
  }
  state.order.push_back(index);
  if (state.plan.shards.empty()) state.plan.shards.emplace_back();
  state.plan.shards.front().push_back(index);
  return index;
}

bool has_winner(const ItemState& item) {
  return item.status == ItemStatus::done || item.status == ItemStatus::cut ||
         item.status == ItemStatus::fresh;
}

}  // namespace

SweepEnd cover_regions(SweepState& state, CoverPlanner& planner, const CoverRun& run) {
  planner.take_up(state.regions);
  SweepEnd end = run.run();
  for (int fruitless = 0; end == SweepEnd::complete && fruitless < kFruitlessRounds;) {
    const std::vector<CoverDecision> decisions = planner.next(run.at_once, ids_of(state));
    state.regions = planner.to_json();
    if (decisions.empty()) return end;
    std::vector<std::size_t> added;
    for (const CoverDecision& decision : decisions) {
      run.event(fmt::format("chosen: {}: {}", decision.item.display(), decision.reason));
      added.push_back(add_item(state, run.prepare(decision.item)));
    }
    state.ended = false;  // a process that is killed from here on is taken up
    run.save();
    end = run.run();
    const bool any = std::any_of(added.begin(), added.end(),
                                 [&](std::size_t item) { return has_winner(state.items[item]); });
    fruitless = any ? 0 : fruitless + 1;
    if (fruitless == kFruitlessRounds)
      run.event(fmt::format("no winner in {} rounds: no further shape is chosen", fruitless));
  }
  // What was learned since the last choice; nothing is chosen. A deadline leaves no time for it.
  if (end == SweepEnd::complete) {
    planner.next(0, {});
    state.regions = planner.to_json();
  }
  return end;
}

}  // namespace tunebook
