#include "sweep/item.h"

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "sweep/decision.h"
#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

using nlohmann::ordered_json;

SweepItem some_item() {
  SweepItem one = item("product", product_problem(512, 256, 64, "f16"), "cuda:1");
  one.settings.where = {"BM >= 32"};
  one.settings.seed = 18'446'744'073'709'551'615U;
  one.settings.priority = 2.5;
  one.settings.freshness = {std::nullopt, 7.5};
  one.templates = {"/srv/kernels"};
  return one;
}

// Ids stand in frozen plans and in the states of sweeps: a change of this value makes every one of them void.
TEST(SweepItem, IdIsTheSameOnEveryMachine) {
  EXPECT_EQ(item("add", add_problem(4096), "cpu").id(), "cbfcb00cf539e23e6ca46582498159a4");
}

TEST(SweepItem, IdKnowsWhatDeterminesTheSession) {
  const std::vector<std::function<void(SweepItem&)>> changes = {
      [](SweepItem& one) { one.kernel = "other"; },
      [](SweepItem& one) { one.problem.set("k", std::int64_t{65}); },
      [](SweepItem& one) { one.problem.set("dtype", std::string("f32")); },
      [](SweepItem& one) { one.device = "cuda:0"; },
      [](SweepItem& one) { one.settings.objective = Objective::energy; },
      [](SweepItem& one) { one.settings.cache = "warm"; },
      [](SweepItem& one) { one.settings.strategy = "random"; },
      [](SweepItem& one) { one.settings.seed = 1; },
      [](SweepItem& one) { one.settings.budget = "10%"; },
      [](SweepItem& one) { one.settings.where.push_back("BN == 16"); },
      [](SweepItem& one) { one.settings.baseline = false; },
      [](SweepItem& one) { one.settings.from_book = false; },
      [](SweepItem& one) { one.settings.from_book_first = 5; },
      [](SweepItem& one) { one.settings.sanitize = true; },
      [](SweepItem& one) { one.settings.finalists = 4; },
      [](SweepItem& one) { one.settings.finalist_processes = 3; },
      [](SweepItem& one) { one.settings.lock_clocks_mhz = 1500; },
      [](SweepItem& one) { one.settings.run_timeout_s = 11; },
      [](SweepItem& one) { one.settings.compile_timeout_s = 61; },
  };
  std::set<std::string> ids = {some_item().id()};
  for (const auto& change : changes) {
    SweepItem changed = some_item();
    change(changed);
    EXPECT_TRUE(ids.insert(changed.id()).second) << changed.to_json();
    EXPECT_EQ(SweepItem::from_json(changed.to_json(), "item"), changed);
  }
  SweepItem same = some_item();
  same.settings.priority = 1;
  same.settings.freshness = {};
  same.templates.clear();
  EXPECT_EQ(same.id(), some_item().id());
}

TEST(SweepItem, IdIgnoresTheOrderOfDimensions) {
  Problem turned;
  for (const char* name : {"math", "dtype", "k", "n", "m"}) turned.set(name, product_problem(1, 2, 3).at(name));
  EXPECT_EQ(item("product", turned).id(), item("product", product_problem(1, 2, 3)).id());
}

TEST(SweepItem, ReplayPaths) {
  const SweepItem replay = item("add", add_problem(1), "replay:/data/a:b");
  EXPECT_TRUE(replay.is_replay());
  EXPECT_EQ(replay.replay_path(), "/data/a:b");
  EXPECT_FALSE(some_item().is_replay());
  EXPECT_EQ(some_item().replay_path(), "");
  EXPECT_EQ(some_item().display(), "product m=512,n=256,k=64,dtype=f16,math=ieee on cuda:1");
}

TEST(SweepItem, DamagedJsonIsRefusedWithItsPlace) {
  const std::vector<std::pair<std::function<void(ordered_json&)>, std::string>> damages = {
      {[](ordered_json& json) { json.erase("kernel"); }, "item/kernel: found nothing, expected a value"},
      {[](ordered_json& json) { json["kernel"] = ""; }, "item/kernel: found \"\", expected the name of a kernel"},
      {[](ordered_json& json) { json["seed"] = -1; }, "item/seed: found -1, expected an integer that is not negative"},
      {[](ordered_json& json) { json["budget"] = "soon"; }, "item/budget: --budget \"soon\": not a budget; give a number of trials (200), a share of the space (10%), a time (30s, 5m, 2h), \"all\", or \"auto\""},
      {[](ordered_json& json) { json["finalists"] = 33; }, "item/finalists: found 33, expected an integer from 0 to 32"},
      {[](ordered_json& json) { json["run_timeout_s"] = 0; }, "item/run_timeout_s: found 0, expected a number from 0.001 to 604800"},
      {[](ordered_json& json) { json["where"] = "BM"; }, "item/where: found \"BM\", expected an array"},
      {[](ordered_json& json) { json["baselines"] = true; }, "item/baselines: unknown key; did you mean \"baseline\"?"},
      {[](ordered_json& json) { json["freshness"]["retime_after_days"] = "soon"; }, "item/freshness/retime_after_days: found \"soon\", expected a number from 0 to 36525"},
      {[](ordered_json& json) { json = 3; }, "item: found 3, expected an object"},
  };
  for (const auto& [damage, message] : damages) {
    ordered_json json = some_item().to_json();
    damage(json);
    EXPECT_EQ(error_of([&, &damaged = json] { SweepItem::from_json(damaged, "item"); }), message);
  }
  ordered_json json = some_item().to_json();
  json["problem"]["m"] = 513;
  EXPECT_NE(error_of([&] { SweepItem::from_json(json, "item"); }).find("item/id: it does not fit the rest of the item"), std::string::npos);
}

TEST(Decision, RoundTripsAndRefusesUnknownActions) {
  for (const Action action : {Action::tune, Action::retime, Action::go_on, Action::fresh}) {
    const Decision decision{action, "why \"so\"\n", action == Action::tune, "abc", "{}"};
    EXPECT_EQ(Decision::from_json(decision.to_json(), "d"), decision);
  }
  ordered_json json = Decision().to_json();
  json["action"] = "stop";
  EXPECT_EQ(error_of([&] { Decision::from_json(json, "d"); }), "d/action: found \"stop\", expected \"tune\", \"retime\", \"continue\" or \"fresh\"");
  const Estimate estimate{12.5, 0.25, "guess"};
  EXPECT_EQ(Estimate::from_json(estimate.to_json(), "e"), estimate);
  json = estimate.to_json();
  json["gain"] = 1.5;
  EXPECT_EQ(error_of([&] { Estimate::from_json(json, "e"); }), "e/gain: found 1.5, expected a number from 0 to 1");
}

}  // namespace
}  // namespace tunebook::testing
