#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.h"
#include "sweep/plan.h"
#include "sweep/prepare.h"
#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

double load(const std::vector<std::size_t>& part, const std::vector<double>& seconds) {
  return std::accumulate(part.begin(), part.end(), 0.0, [&](double sum, std::size_t index) { return sum + seconds[index]; });
}

// The shortest longest part, by trying every assignment.
double best_possible(const std::vector<double>& seconds, std::size_t shards) {
  std::size_t assignments = 1;
  for (std::size_t i = 0; i < seconds.size(); ++i) assignments *= shards;
  double best = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  for (std::size_t assignment = 0; assignment < assignments; ++assignment) {
    std::vector<double> loads(shards, 0);
    std::size_t rest = assignment;
    for (const double one : seconds) {
      loads[rest % shards] += one;
      rest /= shards;
    }
    best = std::min(best, *std::max_element(loads.begin(), loads.end()));
  }
  return best;
}

TEST(Partition, LongestFirstByHand) {
  // 7 -> 0, 5 -> 1, 4 -> 1 (9), 3 -> 0 (10), 1 -> 1 (10)
  EXPECT_EQ(balanced_partition({3, 7, 1, 5, 4}, 2), (std::vector<std::vector<std::size_t>>{{0, 1}, {2, 3, 4}}));
}

TEST(Partition, NothingAndMorePartsThanWork) {
  EXPECT_EQ(balanced_partition({}, 3), (std::vector<std::vector<std::size_t>>(3)));
  EXPECT_TRUE(balanced_partition({1, 2}, 0).empty());
  EXPECT_EQ(balanced_partition({1, 2}, 4), (std::vector<std::vector<std::size_t>>{{1}, {0}, {}, {}}));
}

TEST(Partition, EqualCostsAreDealtOut) {
  const auto parts = balanced_partition(std::vector<double>(12, 2.5), 4);
  for (const auto& part : parts) EXPECT_EQ(part.size(), 3U);
}

TEST(Partition, EachItemOnceAndWithinGrahamsBound) {
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    const std::size_t shards = 2 + random.below(2);
    std::vector<double> seconds(1 + random.below(9));
    for (double& one : seconds) one = 1 + 100 * random.uniform() * random.uniform();
    const auto parts = balanced_partition(seconds, shards);
    ASSERT_EQ(parts.size(), shards);
    std::multiset<std::size_t> seen;
    double longest = 0;
    for (const auto& part : parts) {
      seen.insert(part.begin(), part.end());
      EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
      longest = std::max(longest, load(part, seconds));
    }
    ASSERT_EQ(seen.size(), seconds.size());
    ASSERT_EQ(std::set<std::size_t>(seen.begin(), seen.end()).size(), seconds.size());
    const double bound = 4.0 / 3 - 1 / (3.0 * static_cast<double>(shards));
    EXPECT_LE(longest, bound * best_possible(seconds, shards) * (1 + 1e-12));
    EXPECT_EQ(parts, balanced_partition(seconds, shards));
  }
}

FrozenItem work(std::int64_t n, Action action, double seconds, double gain, double priority = 1) {
  FrozenItem frozen;
  frozen.item = item("add", add_problem(n));
  frozen.item.settings.priority = priority;
  frozen.decision.action = action;
  frozen.estimate = {seconds, gain, ""};
  return frozen;
}

TEST(WorkOrder, BegunFirstThenPriorityTimesGainPerSecond) {
  const std::vector<FrozenItem> items = {work(1, Action::tune, 10, 0.1),  work(2, Action::tune, 10, 0.2),        work(3, Action::retime, 1, 0.002),
                                         work(4, Action::go_on, 90, 0.1), work(5, Action::tune, 10, 0.1, /*priority=*/3)};
  EXPECT_EQ(work_order(items, {0, 1, 2, 3, 4}), (std::vector<std::size_t>{3, 4, 1, 0, 2}));
  EXPECT_EQ(work_order(items, {2, 0}), (std::vector<std::size_t>{0, 2}));
}

TEST(WorkOrder, DivideLeavesFreshItemsOut) {
  const std::vector<FrozenItem> items = {work(1, Action::fresh, 0, 0), work(2, Action::tune, 10, 0.1), work(3, Action::tune, 8, 0.4), work(4, Action::retime, 3, 0.01),
                                         work(5, Action::fresh, 0, 0)};
  // 10 -> 0; 8 -> 1; 3 -> 1. Within a part the most gain per second first.
  EXPECT_EQ(divide(items, 2), (std::vector<std::vector<std::size_t>>{{1}, {2, 3}}));
}

}  // namespace
}  // namespace tunebook::testing
