// What a model advises: the best of a space and of its candidates, for a made-up kernel and trees
// written by hand.
#include "learn/adviser.h"

#include <limits>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/template_folder.h"

namespace tunebook::learn {
namespace {

// Blocks of BX * BY threads; the device of the tests allows 1024.
constexpr const char* kKernel = R"json({
  "tunebook": 1, "kernel": "made_up", "summary": "made up",
  "source": "kernel.cu", "entry": "made_up", "instantiate": ["T", "BX", "BY", "WIDE"],
  "problem": {"n": {"default": 4096, "verify": [1, 1000]}, "dtype": {"values": ["f32", "f16"], "default": "f32"}},
  "parameters": {
    "BX": {"values": [8, 16, 32, 64, 128], "help": "threads"},
    "BY": {"values": [1, 2, 4, 8, 16, 32], "help": "threads"},
    "WIDE": {"values": [1, 4], "help": "elements at once"}},
  "constraints": ["n % WIDE == 0"],
  "presets": {"default": {"BX": 64, "BY": 1, "WIDE": 1}},
  "launch": {"block": ["BX", "BY"], "grid": ["ceil_div(n, BX * BY)"]
}
,
  "arguments": [
    {"name": "c", "type": "T*", "count": "n", "access": "out"},
    {"name": "a", "type": "T*", "count": "n", "access": "in", "fill": "uniform(-1, 1)"},
    {"name": "n", "type": "i64", "value": "n"}],
  "reference": {"source": "reference.cu", "entry": "made_up_reference", "block": ["256"], "grid": ["ceil_div(n, 256)"]},
  "tolerance": {"f32": {"rel": "2 * eps", "abs": "0"}, "f16": {"rel": "2 * eps", "abs": "0"}},
  "work": {
  "flops" : "n", "bytes" : "2 * n * sizeof(T)"
}
})json";

KernelSpec made_up() {
  return KernelSpec::parse(nlohmann::ordered_json::parse(kKernel), "kernel.json");
}

Problem problem_of(std::int64_t n) { return made_up().parse_shape("n=" + std::to_string(n)); }

// Loss in 2^-20: 1000 * (BX below 64) + 100 * (BY below 8) + 10 * (WIDE is 1).
TimeModel trees() {
  using Node = TimeModel::Node;
  TimeModel model;
  model.dtype = "f32";
  model.method = "cold/2";
  model.features = {"n", "BX", "BY", "WIDE"};
  model.roots = {0, 3, 6};
  model.nodes = {Node{1, 64, 1}, Node{Node::kLeaf, 0, 1000}, Node{Node::kLeaf, 0, 0},
                 Node{2, 8, 4},  Node{Node::kLeaf, 0, 100},  Node{Node::kLeaf, 0, 0},
                 Node{3, 2, 7},  Node{Node::kLeaf, 0, 10},   Node{Node::kLeaf, 0, 0}};
  model.base = 5;
  // BX=16,BY=8,WIDE=4; BX=64,BY=1,WIDE=1; BX=128,BY=32,WIDE=4, whose block is too large.
  model.candidates = {{{1, 3, 1}, 40, 0, 3}, {{3, 0, 0}, 40, 0, 2}, {{4, 5, 1}, 40, 0, 1}};
  model.anchors = {{{Value(std::int64_t{4096}), Value(std::string("f32"))}, 10, 0}};
  model.loss = {{std::numeric_limits<double>::infinity(), 0.05, 0.1, 0.2, 4}};
  return model;
}

SearchSpace space_of(const Problem& problem) {
  return SearchSpace::build(space_definition(made_up(), problem, KernelSpec::generic_device()));
}

std::vector<std::string> texts(const std::vector<Configuration>& configurations) {
  std::vector<std::string> result;
  for (const Configuration& one : configurations) result.push_back(one.display());
  return result;
}

using Lines = std::vector<std::string>;

TEST(Adviser, TheBestOfTheSpaceAreThoseThatTheTreesPutFirst) {
  const Problem problem = problem_of(4096);
  Adviser adviser(trees(), made_up(), problem, KernelSpec::generic_device());
  const SearchSpace space = space_of(problem);
  // 5, then 15, 105, 115: of those that are predicted alike the first only.
  EXPECT_EQ(
      texts(adviser.best_of_space(space, 4)),
      (Lines{"BX=64,BY=8,WIDE=4", "BX=64,BY=8,WIDE=1", "BX=64,BY=1,WIDE=4", "BX=64,BY=1,WIDE=1"}));
  // Against a search of its own, of all that can be launched.
  for (const Configuration& one : adviser.best_of_space(space, 60)) {
    EXPECT_LE(std::get<std::int64_t>(one.at("BX")) * std::get<std::int64_t>(one.at("BY")), 1024);
  }
  EXPECT_EQ(adviser.best_of_space(space, 100).size(), 54U)
      << "60, less the six with too many threads";
  EXPECT_DOUBLE_EQ(adviser.predicted_loss(made_up().parse_configuration("BX=8,BY=1,WIDE=1")),
                   1115.0 / 1048576);
}

TEST(Adviser, CandidatesAreTakenWhereTheyAreValidAndCanBeLaunched) {
  const Problem whole = problem_of(4096), odd = problem_of(4097);
  Adviser adviser(trees(), made_up(), whole, KernelSpec::generic_device());
  EXPECT_EQ(texts(adviser.best_of_candidates(space_of(whole), 5)),
            (Lines{"BX=64,BY=1,WIDE=1", "BX=16,BY=8,WIDE=4"}));
  EXPECT_DOUBLE_EQ(adviser.least_predicted_loss(10).value(), 115.0 / 1048576);
  EXPECT_DOUBLE_EQ(adviser.least_predicted_loss(1).value(), 1005.0 / 1048576)
      << "the first one alone";

  Adviser at_odd(trees(), made_up(), odd, KernelSpec::generic_device());
  EXPECT_EQ(texts(at_odd.best_of_candidates(space_of(odd), 5)), (Lines{"BX=64,BY=1,WIDE=1"}));
  TimeModel none = trees();
  none.candidates = {{{1, 3, 1}, 40, 0, 3}};
  EXPECT_EQ(Adviser(none, made_up(), odd, KernelSpec::generic_device()).least_predicted_loss(10),
            std::nullopt);
}

TEST(Adviser, WhatToTryFirstIsInTurnFromBothAndEachOnce) {
  const Problem problem = problem_of(4096);
  Adviser adviser(trees(), made_up(), problem, KernelSpec::generic_device());
  EXPECT_EQ(texts(adviser.first_to_try(space_of(problem), 5)),
            (Lines{"BX=64,BY=1,WIDE=1", "BX=64,BY=8,WIDE=4", "BX=16,BY=8,WIDE=4",
                   "BX=64,BY=8,WIDE=1", "BX=64,BY=1,WIDE=4"}));
  EXPECT_EQ(adviser.first_to_try(space_of(problem), 100).size(), 54U);
  EXPECT_TRUE(adviser.first_to_try(space_of(problem), 0).empty());
}

TEST(Adviser, ASpaceOfOtherParametersGetsNoAdvice) {
  const Problem problem = problem_of(4096);
  Adviser adviser(trees(), made_up(), problem, KernelSpec::generic_device());
  auto json = nlohmann::ordered_json::parse(kKernel);
  json["parameters"]["BX"]["values"] = {8, 16, 64};
  const KernelSpec other = KernelSpec::parse(json, "kernel.json");
  const SearchSpace space =
      SearchSpace::build(space_definition(other, problem, KernelSpec::generic_device()));
  EXPECT_TRUE(adviser.first_to_try(space, 5).empty());
}

TEST(Adviser, AFeatureThatDoesNotCompileIsNamed) {
  TimeModel model = trees();
  model.features[1] = "BX + nothing_like_it";
  try {
    Adviser(model, made_up(), problem_of(4096), KernelSpec::generic_device());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("feature `BX + nothing_like_it`: column 6"),
              std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("tunebook learn"), std::string::npos);
  }
}

}  // namespace
}  // namespace tunebook::learn
