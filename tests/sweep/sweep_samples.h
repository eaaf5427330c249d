#pragma once

#include <string>
#include <vector>

#include "sweep/state.h"

namespace tunebook::test {

// A frozen plan of so many sessions, on these devices in turn.
inline FrozenPlan sample_plan(std::size_t count, const std::vector<std::string>& devices = {"cpu"}) {
  FrozenPlan plan;
  plan.plan_hash = "0123456789abcdef0123456789abcdef";
  plan.name = "sample";
  for (std::size_t i = 0; i < count; ++i) {
    FrozenItem item;
    item.item.kernel = "matmul";
    item.item.problem.set("n", static_cast<std::int64_t>(i + 1));
    item.item.device = devices[i % devices.size()];
    item.decision.reason = "never tuned";
    item.estimate = {10, 0.5, "no history"};
    plan.items.push_back(item);
  }
  plan.shards.emplace_back();
  for (std::size_t i = 0; i < count; ++i) plan.shards.front().push_back(i);
  return plan;
}

inline std::vector<std::size_t> all_of(const FrozenPlan& plan) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < plan.items.size(); ++i) order.push_back(i);
  return order;
}

}  // namespace tunebook::test
