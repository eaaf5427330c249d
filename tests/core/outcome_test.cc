#include "core/outcome.h"

#include <set>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

TEST(Outcome, NamesAreDistinctAndReadBack) {
  std::set<std::string_view> names;
  for (const Outcome outcome : kOutcomes) {
    EXPECT_TRUE(names.insert(outcome_name(outcome)).second);
    EXPECT_EQ(parse_outcome(outcome_name(outcome)), outcome);
  }
  EXPECT_EQ(names.size(), 14U);
  EXPECT_EQ(outcome_name(Outcome::no_resources), "no_resources");
  EXPECT_EQ(outcome_name(Outcome::divergent_barrier), "divergent_barrier");
  EXPECT_EQ(parse_outcome("OK"), std::nullopt);
  EXPECT_EQ(parse_outcome(""), std::nullopt);
}

TEST(Outcome, SaysWhatFollows) {
  const std::set<Outcome> timed = {Outcome::ok, Outcome::abandoned};
  const std::set<Outcome> poisonous = {Outcome::run_timeout, Outcome::fault, Outcome::divergent_barrier, Outcome::worker_lost};
  for (const Outcome outcome : kOutcomes) {
    EXPECT_EQ(has_time(outcome), timed.contains(outcome)) << outcome_name(outcome);
    EXPECT_EQ(poisons_worker(outcome), poisonous.contains(outcome)) << outcome_name(outcome);
  }
}

}  // namespace
}  // namespace tunebook
