// The quick search for the least candidate against the plain one, on large random models.

#include "db/prepared_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "book_fixture.h"
#include "core/random.h"

namespace tunebook::testing {
namespace {

// Five parameters of eight values; constraints with and without sizes, one of which fails for some
// values.
const char* const kWideSpec = R"json({
  "tunebook": 1, "kernel": "wide", "summary": "for tests", "source": "kernel.cu", "entry": "wide",
  "instantiate": ["A", "B", "C", "D", "E"],
  "problem": {"m": {"default": 64}, "n": {"default": 64}, "mode": {"values": ["a", "b"], "default": "a"}},
  "parameters": {
    "A": {"values": [1, 2, 3, 4, 5, 6, 7, 8]}, "B": {"values": [1, 2, 3, 4, 5, 6, 7, 8]},
    "C": {"values": [1, 2, 3, 4, 5, 6, 7, 8]}, "D": {"values": [1, 2, 3, 4, 5, 6, 7, 8]},
    "E": {"values": ["u", "v", "w"]}},
  "constraints": ["A * B <= 48", "m % A == 0 or E == 'u'", "mode == 'a' or C != D", "n // (C - D + 8) >= 0",
                  "100 // (m % 4 + (B != 7)) >= 0", "n > 3 or D < 4"],
  "presets": {"default": {"A": 1, "B": 1, "C": 1, "D": 2, "E": "u"}},
  "launch": {"block": ["A * B"], "grid": ["ceil_div(m, A)", "ceil_div(n, B * C)"], "shared_bytes": "D * 1024"},
  "arguments": [{"name": "c", "type": "f32*", "count": "m * n", "access": "out"}],
  "reference": {"source": "reference.cu", "entry": "reference", "block": ["256"], "grid": ["ceil_div(m * n, 256)"]},
  "tolerance": {"f32": {"rel": "0", "abs": "1"}},
  "work": {"flops": "m * n", "bytes": "4 * m * n"}
})json";

std::uint32_t add_tree(Random& random, TimeModel& model, int depth, std::int64_t scale) {
  const std::size_t root = model.nodes.size();
  std::vector<std::pair<std::size_t, int>> open = {{root, 0}};
  model.nodes.emplace_back();
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [at, level] = open[i];
    if (level == depth || random.below(8) == 0) {
      model.nodes[at].next =
          static_cast<std::int32_t>(static_cast<std::int64_t>(random.below(201)) - 100) *
          static_cast<std::int32_t>(scale);
      continue;
    }
    const auto children = model.nodes.size();
    const float threshold = random.below(2) == 0 ? static_cast<float>(random.below(10))
                                                 : static_cast<float>(random.below(2000)) / 4;
    model.nodes[at] = {static_cast<std::int32_t>(random.below(model.features.size())), threshold,
                       static_cast<std::int32_t>(children)};
    model.nodes.resize(children + 2);
    open.push_back({children, level + 1});
    open.push_back({children + 1, level + 1});
  }
  return static_cast<std::uint32_t>(root);
}

TimeModel wide_model(Random& random, const KernelSpec& spec) {
  TimeModel model;
  model.method = "cold/1";
  model.features = automatic_features(spec);
  const std::uint64_t trees = random.below(80);
  for (std::uint64_t i = 0; i < trees; ++i) {
    // Later trees tell less, as those that are learned do.
    model.roots.push_back(add_tree(random, model, 5, static_cast<std::int64_t>(1 + 200 / (1 + i))));
  }
  std::set<std::vector<std::uint16_t>> seen;
  const std::uint64_t candidates = 1 + random.below(1500);
  for (std::uint64_t i = 0; i < candidates; ++i) {
    std::vector<std::uint16_t> values;
    for (const Parameter& parameter : spec.parameters) {
      values.push_back(static_cast<std::uint16_t>(random.below(parameter.values.size())));
    }
    if (seen.insert(values).second) model.candidates.push_back({values, -1, -1, 1});
  }
  model.anchors = {{{std::int64_t{64}, std::int64_t{64}, std::string("a")}, 1, 0}};
  model.loss = {{std::numeric_limits<double>::infinity(), 0, 0, 0, 1}};
  return TimeModel::decode(model.encode(), spec, "test");
}

TEST(PreparedModelTest, FirstIsTheLeastOfAll) {
  const auto spec = std::make_shared<const KernelSpec>(
      KernelSpec::parse(nlohmann::ordered_json::parse(kWideSpec), "kernel.json"));
  Random random(7);
  int none = 0, refused = 0;
  for (int round = 0; round < 60; ++round) {
    const PreparedModel prepared(wide_model(random, *spec), spec);
    for (int question = 0; question < 12; ++question) {
      Problem problem;
      problem.set("m", static_cast<std::int64_t>(1 + random.below(600)));
      problem.set("n", static_cast<std::int64_t>(1 + random.below(6)));
      problem.set("mode", std::string(random.below(2) == 0 ? "a" : "b"));
      Device device = some_gpu();
      if (random.below(4) == 0) device.sm_count = 0;
      // Some questions refuse many first choices.
      const std::uint64_t refusing = random.below(3) == 0 ? 10 : 0;
      const auto usable = [&](std::size_t candidate) {
        return candidate * 7 % 10 >= refusing * 9 / 10;
      };

      std::optional<PreparedModel::Scored> expected;
      for (const PreparedModel::Scored& one : prepared.all(problem, device)) {
        KernelSpec::Scope scope = spec->scope(problem, device);
        spec->bind(scope, prepared.configuration(one.candidate));
        bool valid = usable(one.candidate);
        for (const Expression& constraint : spec->constraints) {
          try {
            valid = valid && constraint.evaluate_bool(scope);
          } catch (const ExpressionError&) {
            valid = false;
          }
        }
        if (valid && !expected) expected = one;
      }
      ASSERT_EQ(prepared.first(problem, device, usable), expected)
          << "round " << round << ", question " << question;
      none += expected ? 0 : 1;
      refused += refusing > 0 ? 1 : 0;
    }
  }
  EXPECT_LT(none, 500);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace tunebook::testing
