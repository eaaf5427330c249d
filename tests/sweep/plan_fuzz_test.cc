#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/random.h"
#include "sweep/plan.h"
#include "sweep_fixture.h"

namespace tunebook::testing {
namespace {

using nlohmann::ordered_json;

ordered_json everything() {
  return ordered_json::parse(R"({"tunebook": 1, "name": "night", "summary": "x", "time": "8h", "until": "06:00", "devices": ["cpu", "cuda:0"], "strategy": "random", "seed": 7, "budget": "10%",
    "where": ["1 == 1"], "baseline": false, "finalists": 4, "run_timeout_s": 2.5, "priority": 3, "freshness": {"retune_after_days": "never", "retime": 2},
    "sessions": [
      {"kernels": "product", "shapes": ["1,2,3", {"m": [8, {"from": 16, "to": 64, "factor": 2}], "n": {"from": 10, "to": 25, "step": 10}, "k": 3, "math": "ieee"}], "types": ["f16", "f32"]},
      {"kernels": ["add", "plain"], "shapes": {"from_file": "shapes.txt"}},
      {"kernels": "add", "shapes": [{"from_misses": "misses.jsonl"}], "types": "all", "devices": "cpu"},
      {"kernels": "product", "cover": {"m": {"from": 1, "to": 64}, "n": [8, 16], "k": 3, "math": "ieee"}, "when": "m * n <= 400", "weights": {"from_file": "asked.txt"}, "target_loss": "5%", "from_book": 5},
      {"kernels": "walk", "devices": "replay:recorded", "from_book": false}]})");
}

// Random changes of a good plan: it is read or refused with the place; nothing else happens.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  void mutate(ordered_json& json) {
    std::vector<ordered_json*> all;
    collect(json, all);
    ordered_json& chosen = *all[random_.below(all.size())];
    switch (random_.below(4)) {
      case 0: chosen = value(); break;
      case 1: chosen = ordered_json(*all[random_.below(all.size())]); break;
      case 2:
        if (chosen.is_object() && !chosen.empty()) chosen.erase(std::next(chosen.begin(), static_cast<std::ptrdiff_t>(random_.below(chosen.size()))));
        else if (chosen.is_array() && !chosen.empty()) chosen.erase(random_.below(chosen.size()));
        break;
      default:
        if (chosen.is_object()) chosen[word()] = value();
        else if (chosen.is_array()) chosen.push_back(value());
        else chosen = word();
    }
  }

 private:
  static void collect(ordered_json& json, std::vector<ordered_json*>& all) {
    all.push_back(&json);
    if (json.is_structured()) for (auto& child : json) collect(child, all);
  }
  ordered_json value() {
    static const char* const kValues[] = {"null", "true", "0", "-1", "1", "64", "9223372036854775807", "18446744073709551615", "68719476736", "1e300", "0.5", "\"\"", "[]", "{}", "[[]]",
                                          "{\"\": {}}", "\"f16\"", "\"never\"", "\"all\"", "\"8h\"", "\"cuda\"", "\"replay:.\"", "\"replay:/\"", "\"5,6\"", "\"..\"", "[1, 2]", "\"1 // 0\"",
                                          "\"\\u0000\"", "\"((((\"", "{\"from\": 1, \"to\": 68719476736, \"step\": 1}", "{\"from\": 1, \"to\": 68719476736, \"factor\": 2}", "{\"from_file\": \"/dev/zero\"}",
                                          "{\"from_misses\": \"recorded.csv\"}"};
    return ordered_json::parse(kValues[random_.below(std::size(kValues))]);
  }
  std::string word() {
    static const char* const kWords[] = {"n", "m", "k", "dtype", "shapes", "kernels", "", "a/b~c", "from", "to", "step", "factor", "from_file", "from_misses", "devices", "types", "where", "budget", "\xc3\xa4"};
    return kWords[random_.below(std::size(kWords))];
  }
  Random random_;
};

using PlanFuzzTest = SweepTest;

TEST_F(PlanFuzzTest, MutationsGiveInputErrorsOnly) {
  record("recorded", "walk", R"({"x": 64})");
  write("shapes.txt", "5\n6 # six\n");
  write("asked.txt", "1,8,3 2\n");
  write("misses.jsonl", R"({"kernel":"add","problem":{"n":5,"dtype":"f16"},"device":{"kind":"cpu"},"objective":"time"})" "\n");
  ASSERT_EQ(plan(everything().dump()).items.size(), (1U + 4 * 2) * 2 * 2 + 2 * 2 * 2 + 1 + 1);
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    ordered_json json = everything();
    Mutator mutator(seed);
    for (std::uint64_t i = 0; i <= seed % 3; ++i) mutator.mutate(json);
    const std::string text = json.dump();
    try {
      const SweepPlan read = plan(text);
      ++accepted;
      EXPECT_LE(read.items.size(), kMaxItems);
      if (seed % 4 == 0) {
        EXPECT_EQ(plan(text).hash(), read.hash());
      }
      for (const SweepItem& item : read.items) ASSERT_EQ(SweepItem::from_json(item.to_json(), "item"), item) << text;
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find(path("plan.json") + ": /"), 0U) << error.what() << "\n" << text;
    } catch (const std::exception& error) {
      FAIL() << "seed " << seed << ": " << error.what() << "\n" << text;
    }
  }
  EXPECT_GT(accepted, 3);
}

TEST_F(PlanFuzzTest, RandomBytesInTheText) {
  write("shapes.txt", "5\n");
  write("asked.txt", "1,8,3 2\n");
  write("misses.jsonl", "");
  record("recorded", "walk", R"({"x": 64})");
  const std::string good = everything().dump();
  Random random(5);
  for (int round = 0; round < 150; ++round) {
    std::string text = good;
    if (round % 5 == 0) text.resize(random.below(text.size()));
    for (std::uint64_t i = 0; i <= random.below(3) && !text.empty(); ++i) text[random.below(text.size())] = static_cast<char>(random.below(256));
    try {
      plan(text);
    } catch (const InputError&) {
      // as it should be
    }
  }
}

}  // namespace
}  // namespace tunebook::testing
