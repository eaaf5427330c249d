#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"
#include "core/json_text.h"
#include "sweep/plan.h"
#include "sweep/prepare.h"
#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

using nlohmann::ordered_json;

FrozenPlan some_plan() {
  FrozenPlan plan;
  plan.plan_hash = "0123456789abcdef0123456789abcdef";
  plan.name = "nightly";
  plan.frozen_at = kNow + 0.25;
  plan.time = {8 * kHour, 360};
  for (std::int64_t n = 1; n <= 6; ++n) {
    FrozenItem frozen;
    frozen.item = item("add", add_problem(n), n % 2 == 0 ? "cpu" : "cuda");
    frozen.decision.action = n == 3 ? Action::fresh : Action::tune;
    frozen.decision.reason = "never tuned";
    frozen.estimate = {10.0 * static_cast<double>(n), 0.1, "no history"};
    plan.items.push_back(std::move(frozen));
  }
  plan.shards = divide(plan.items, 2);
  return plan;
}

using FrozenPlanTest = SweepTest;

TEST_F(FrozenPlanTest, WrittenAndReadAgain) {
  const std::filesystem::path file = folder_ / "frozen.json";
  some_plan().save(file);
  EXPECT_EQ(FrozenPlan::load(file), some_plan());
  some_plan().save(file);  // replaced
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 2U);  // templates and the plan: no temporary file is left
}

TEST_F(FrozenPlanTest, CannotBeWritten) {
  EXPECT_THROW(some_plan().save(folder_ / "missing" / "frozen.json"), EnvironmentError);
}

TEST_F(FrozenPlanTest, EveryFaultIsAnInputErrorWithItsPlace) {
  const auto fault = [](const std::function<void(ordered_json&)>& damage) {
    ordered_json json = some_plan().to_json();
    damage(json);
    return error_of([&] { FrozenPlan::from_json(json, "frozen.json"); });
  };
  EXPECT_EQ(fault([](ordered_json& json) { json["shards"][0].push_back(1); }).substr(0, 21), "frozen.json: /shards:");
  EXPECT_EQ(fault([](ordered_json& json) { json["shards"][0] = ordered_json::array(); }), "frozen.json: /shards: item 0 is to run but is in no shard");
  EXPECT_EQ(fault([](ordered_json& json) { json["shards"] = ordered_json::parse("[[0, 1, 3, 4, 5], [0]]"); }), "frozen.json: /shards: item 0 is there twice");
  EXPECT_NE(fault([](ordered_json& json) { json["shards"][0][0] = 6; }).find("expected numbers of items below 6"), std::string::npos);
  EXPECT_EQ(fault([](ordered_json& json) { json["items"][2]["item"]["device"] = ""; }), "frozen.json: /items/2/item/device: found \"\", expected cuda, cuda:N, cpu or replay:PATH");
  EXPECT_EQ(fault([](ordered_json& json) { json["tunebook_frozen_plan"] = 2; }), "frozen.json: /tunebook_frozen_plan: found 2, expected 1; use the Tunebook that wrote it");
  EXPECT_EQ(fault([](ordered_json& json) { json.erase("time"); }), "frozen.json: /time: found nothing, expected a value");
  EXPECT_EQ(fault([](ordered_json& json) { json["time"]["until_minute"] = 1440; }), "frozen.json: /time/until_minute: found 1440, expected an integer from 0 to 1439");
  EXPECT_EQ(fault([](ordered_json& json) { json = ordered_json::array(); }), "frozen.json: found an array, expected an object");
}

// A file that was cut off or changed at random is read as it was or refused; nothing else happens.
TEST_F(FrozenPlanTest, RandomDamage) {
  const std::string text = some_plan().to_json().dump();
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = text;
    if (round % 3 == 0) damaged.resize(random.below(damaged.size()));
    for (std::uint64_t i = 0; i < 1 + random.below(3) && !damaged.empty(); ++i) damaged[random.below(damaged.size())] = static_cast<char>(32 + random.below(95));
    try {
      FrozenPlan::from_json(parse_json_text(damaged, "frozen.json"), "frozen.json");
    } catch (const InputError&) {
      // as it should be
    }
  }
}

}  // namespace
}  // namespace tunebook::testing
