#include "sweep/plan.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/json_text.h"
#include "sweep/plan_keys.h"
#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

using Lines = std::vector<std::string>;
using PlanTest = SweepTest;

TEST_F(PlanTest, KernelsTimesShapesTimesTypesTimesDevicesInOrder) {
  EXPECT_EQ(items(R"({"tunebook": 1, "devices": ["cuda:0", "cpu"],
                      "sessions": [{"kernels": ["add", "plain"], "shapes": ["5", "7"]}, {"kernels": "product", "shapes": ["1,2,3"], "types": ["f16", "f32"], "devices": "cpu"}]})"),
            (Lines{"add n=5,dtype=f32 cuda:0", "add n=5,dtype=f32 cpu", "add n=7,dtype=f32 cuda:0", "add n=7,dtype=f32 cpu", "plain n=5 cuda:0", "plain n=5 cpu",
                   "plain n=7 cuda:0", "plain n=7 cpu", "product m=1,n=2,k=3,dtype=f16,math=ieee cpu", "product m=1,n=2,k=3,dtype=f32,math=ieee cpu"}));
}

TEST_F(PlanTest, CommentsAreAllowed) {
  EXPECT_EQ(items("{ // one\n \"tunebook\": 1, /* two */ \"devices\": \"cpu\", \"sessions\": [{\"kernels\": \"add\", \"shapes\": \"9\"}] } // three"), (Lines{"add n=9,dtype=f32 cpu"}));
}

TEST_F(PlanTest, NoShapesIsTheDefaultProblemInEachType) {
  EXPECT_EQ(items(R"({"tunebook": 1, "devices": "cpu", "sessions": [{"kernels": ["add", "plain"]}, {"kernels": "add", "types": "all"}]})"),
            (Lines{"add n=4096,dtype=f32 cpu", "plain n=4096 cpu", "add n=4096,dtype=f16 cpu"}));
}

TEST_F(PlanTest, ProductsOfSizesListsRangesAndCategories) {
  EXPECT_EQ(items(R"({"tunebook": 1, "devices": "cuda", "sessions": [{"kernels": "product", "types": "f16",
                      "shapes": {"m": [8, {"from": 16, "to": 64, "factor": 2}, 16], "n": {"from": 10, "to": 25, "step": 10}, "k": 3, "math": ["tensor", "ieee"]}}]})")
                .size(),
            4U * 2 * 1 * 2);
  EXPECT_EQ(items(R"({"tunebook": 1, "devices": "cuda", "sessions": [{"kernels": "product", "shapes": [{"m": [1, 2], "k": 3, "n": {"from": 5, "to": 5, "step": 1}, "dtype": ["f32", "f16"]}]}]})"),
            (Lines{"product m=1,n=5,k=3,dtype=f32,math=ieee cuda", "product m=1,n=5,k=3,dtype=f16,math=ieee cuda", "product m=2,n=5,k=3,dtype=f32,math=ieee cuda",
                   "product m=2,n=5,k=3,dtype=f16,math=ieee cuda"}));
}

TEST_F(PlanTest, RangesHoldBothEnds) {
  const auto sizes = [&](const std::string& range) {
    std::vector<std::int64_t> out;
    for (const SweepItem& item : plan(R"({"tunebook": 1, "devices": "cpu", "sessions": [{"kernels": "plain", "shapes": {"n": )" + range + "}}]}").items) {
      out.push_back(std::get<std::int64_t>(item.problem.at("n")));
    }
    return out;
  };
  EXPECT_EQ(sizes(R"({"from": 1, "to": 10, "step": 3})"), (std::vector<std::int64_t>{1, 4, 7, 10}));
  EXPECT_EQ(sizes(R"({"from": 1, "to": 9, "step": 3})"), (std::vector<std::int64_t>{1, 4, 7}));
  EXPECT_EQ(sizes(R"({"from": 3, "to": 50, "factor": 4})"), (std::vector<std::int64_t>{3, 12, 48}));
  EXPECT_EQ(sizes(R"({"from": 68719476736, "to": 68719476736, "factor": 68719476736})"), (std::vector<std::int64_t>{68719476736}));
  EXPECT_EQ(sizes(R"({"from": 68719476735, "to": 68719476736, "step": 68719476736})"), (std::vector<std::int64_t>{68719476735}));
  EXPECT_EQ(sizes(R"({"from": 1, "to": 68719476736, "factor": 2})").size(), 37U);
}

TEST_F(PlanTest, ARepeatedSessionIsThereOnce) {
  const SweepPlan read = plan(R"({"tunebook": 1, "devices": ["cpu", "cuda:0", "cuda:00"], "sessions": [{"kernels": "add", "shapes": ["5", "n=5,dtype=f32", {"n": 5}], "priority": 2},
                                  {"kernels": "add", "shapes": "5"}, {"kernels": "add", "shapes": "5", "budget": 100}]})");
  ASSERT_EQ(read.items.size(), 4U);
  EXPECT_EQ(read.duplicates, 2U * 2 + 2);
  EXPECT_EQ(read.items[0].settings.priority, 2);  // of the first that asked for it
  EXPECT_EQ(read.items[2].settings.budget, "100");
}

TEST_F(PlanTest, SettingsComeFromTheEntryElseFromTheTopElseAreTunes) {
  const SweepPlan read = plan(R"({"tunebook": 1, "name": "night", "summary": "x", "time": "8h", "until": "06:00", "devices": "cuda:1", "objective": "energy", "strategy": "random", "seed": 7, "budget": "10%",
    "where": "BLOCK >= 128", "baseline": false, "from_book": false, "sanitize": true, "finalists": 4, "finalist_processes": 10, "cache": "warm", "lock_clocks_mhz": 1500,
    "run_timeout_s": 2.5, "compile_timeout_s": 90, "priority": 3, "freshness": {"retune_after_days": "never", "retime": 2},
    "sessions": [{"kernels": "add"}, {"kernels": "add", "devices": "cpu", "objective": "time", "cache": "cold", "strategy": "auto", "seed": 0, "budget": 30, "where": [], "baseline": true, "from_book": true,
      "sanitize": false, "finalists": 0, "finalist_processes": 1, "lock_clocks_mhz": 0, "run_timeout_s": 1, "compile_timeout_s": 1, "priority": 0.5, "freshness": {"retime": "never"}}]})");
  EXPECT_EQ(read.name, "night");
  EXPECT_EQ(read.time, (TimeLimit{8 * kHour, 360}));
  ASSERT_EQ(read.items.size(), 2U);
  SessionSettings top;
  top.objective = Objective::energy;
  top.cache = "warm";
  top.strategy = "random";
  top.seed = 7;
  top.budget = "10%";
  top.where = {"BLOCK >= 128"};
  top.baseline = top.from_book = false;
  top.sanitize = true;
  top.finalists = 4;
  top.finalist_processes = 10;
  top.lock_clocks_mhz = 1500;
  top.run_timeout_s = 2.5;
  top.compile_timeout_s = 90;
  top.priority = 3;
  top.freshness = {std::nullopt, 2};
  EXPECT_EQ(read.items[0].settings, top);
  SessionSettings own;
  own.budget = "30";
  own.finalists = 0;
  own.finalist_processes = 1;
  own.run_timeout_s = own.compile_timeout_s = 1;
  own.priority = 0.5;
  own.freshness = {std::nullopt, std::nullopt};
  EXPECT_EQ(read.items[1].settings, own);
  EXPECT_EQ(plan(R"({"tunebook": 1, "devices": "cpu", "sessions": [{"kernels": "add"}]})").items[0].settings, SessionSettings());
  EXPECT_EQ(plan(R"({"tunebook": 1, "devices": "cpu", "sessions": [{"kernels": "add"}]})").name, "plan");
}

TEST_F(PlanTest, FreshnessWords) {
  const auto rule = [&](const std::string& text) {
    return plan(R"({"tunebook": 1, "devices": "cpu", "freshness": )" + text + R"(, "sessions": [{"kernels": "add"}]})").items[0].settings.freshness;
  };
  EXPECT_EQ(rule("{}"), (FreshnessRule{30, 0}));
  EXPECT_EQ(rule(R"({"retune_after_days": 0.5, "retime": "always"})"), (FreshnessRule{0.5, 0}));
  EXPECT_EQ(rule(R"({"retune_after_days": "never", "retime": 7})"), (FreshnessRule{std::nullopt, 7}));
  EXPECT_EQ(rule(R"({"retime": "never"})"), (FreshnessRule{30, std::nullopt}));
}

TEST_F(PlanTest, RecordingsByPathAndByFolder) {
  record("recorded/a", "walk", R"({"x": 64, "y": 32})");
  record("recorded/b", "walk", R"({"x": 128, "y": 32})");
  record("recorded/c", "run", R"({"x": 64})");
  // Paths are relative to the plan, whatever the working folder; a template of that name is not needed.
  EXPECT_EQ(items(R"({"tunebook": 1, "devices": "replay:recorded", "sessions": [{"kernels": ["walk", "run"]}]})"),
            (Lines{"walk x=64,y=32 replay:recorded/a.json", "walk x=128,y=32 replay:recorded/b.json", "run x=64 replay:recorded/c.json"}));
  EXPECT_EQ(items(R"({"tunebook": 1, "devices": "replay:recorded/../recorded/b", "sessions": [{"kernels": "walk", "shapes": ["128,32"]}]})"),
            (Lines{"walk x=128,y=32 replay:recorded/b"}));
  EXPECT_EQ(items(R"({"tunebook": 1, "devices": "replay:recorded", "sessions": [{"kernels": "walk", "shapes": [{"x": [64, 128], "y": 32}]}]})"),
            (Lines{"walk x=64,y=32 replay:recorded/a.json", "walk x=128,y=32 replay:recorded/b.json"}));
}

TEST_F(PlanTest, OneShapeOnADeviceAndInARecording) {
  record("recorded", "add", R"({"n": 64, "dtype": "f16"})");
  EXPECT_EQ(items(R"({"tunebook": 1, "devices": ["cpu", "replay:recorded"], "sessions": [{"kernels": "add", "shapes": "64", "types": "f16"}]})"),
            (Lines{"add n=64,dtype=f16 cpu", "add n=64,dtype=f16 replay:recorded"}));
}

TEST_F(PlanTest, HashIsOfTheWorkAlone) {
  const auto hash = [&](const std::string& top, const std::string& shapes) {
    return plan(R"({"tunebook": 1, )" + top + R"("devices": "cpu", "sessions": [{"kernels": "add", "shapes": )" + shapes + "}]}").hash();
  };
  const std::string one = hash("", R"(["5", "6"])");
  EXPECT_EQ(one.size(), 32U);
  EXPECT_EQ(hash(R"("name": "x", "time": "1h", "priority": 2, "freshness": {"retime": 1}, )", R"([{"n": [5, 6]}, "5"])"), one);
  EXPECT_NE(hash("", R"(["6", "5"])"), one);
  EXPECT_NE(hash("", R"(["5"])"), one);
  EXPECT_NE(hash(R"("seed": 1, )", R"(["5", "6"])"), one);
}

TEST_F(PlanTest, TemplatesOfTheCommandLineAreKeptAbsolute) {
  const SweepPlan read = parse_plan(R"({"tunebook": 1, "devices": "cpu", "sessions": [{"kernels": "add"}]})", folder_ / "plan.json", {{path("x/../templates")}});
  EXPECT_EQ(read.items[0].templates, (Lines{path("templates")}));
}

// Every key that the reader knows is in the schema and the other way round, with the same ones required.
TEST_F(PlanTest, SchemaHasTheSameKeys) {
  const nlohmann::ordered_json schema = parse_json_text(read_text_file(TUNEBOOK_SOURCE_DIR "/tuner/sweep/plan_schema.json"), "plan_schema.json");
  const auto check = [](const SpecObject& object, const nlohmann::ordered_json& described) {
    std::set<std::string> keys, required, schema_keys, schema_required;
    for (const SpecKey& key : object.keys) {
      keys.insert(std::string(key.name));
      if (key.required) required.insert(std::string(key.name));
    }
    for (const auto& [key, value] : described["properties"].items()) schema_keys.insert(key);
    for (const auto& key : described.value("required", nlohmann::ordered_json::array())) schema_required.insert(key.get<std::string>());
    EXPECT_EQ(keys, schema_keys) << object.name;
    EXPECT_EQ(required, schema_required) << object.name;
    EXPECT_EQ(described["additionalProperties"], false) << object.name;
  };
  for (const SpecObject& object : plan_objects()) {
    const std::string name(object.name);
    ASSERT_TRUE(name == "plan" || schema["$defs"].contains(name)) << name;
    check(object, name == "plan" ? schema : schema["$defs"][name]);
  }
  for (const auto& [name, described] : schema["$defs"].items()) {
    if (!described.contains("properties")) continue;
    EXPECT_TRUE(std::any_of(plan_objects().begin(), plan_objects().end(), [&, key = name](const SpecObject& object) { return object.name == key; })) << name;
  }
}

}  // namespace
}  // namespace tunebook::testing
