#include "search/space.h"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "core/json_text.h"
#include "search_fixtures.h"

namespace tunebook {
namespace {

using test::counting;
using test::define;
using test::integers;
using test::message_of;

std::vector<std::string> displays(const SearchSpace& space) {
  std::vector<std::string> result;
  for (std::uint64_t i = 0; i < space.size(); ++i) result.push_back(space.configuration(i).display());
  return result;
}

TEST(SearchSpace, RowsAreLexicographicInDeclaredOrder) {
  const SearchSpace space = SearchSpace::build(define({integers("B", {64, 32, 128}), integers("I", {2, 1, 4})}, {"B * I <= 128"}));
  EXPECT_EQ(displays(space), (std::vector<std::string>{"B=64,I=2", "B=64,I=1", "B=32,I=2", "B=32,I=1", "B=32,I=4", "B=128,I=1"}));
  EXPECT_EQ(space.cartesian_size_text(), "9");
  EXPECT_EQ(space.cartesian_size(), 9.0);
  EXPECT_FALSE(space.listed());
}

TEST(SearchSpace, BoolsAndTexts) {
  Parameter flag{.name = "flag", .values = {false, true}};
  Parameter type{.name = "type", .values = {std::string("f32"), std::string("f16")}, .is_type = true};
  const SearchSpace space = SearchSpace::build(define({flag, type}, {"flag or type == 'f32'", "not (flag and type == 'f32')"}));
  EXPECT_EQ(displays(space), (std::vector<std::string>{"flag=false,type=f32", "flag=true,type=f16"}));
}

TEST(SearchSpace, FindIsTheInverseOfRow) {
  const SearchSpace space = SearchSpace::build(
      define({counting("a", 11), counting("b", 7), counting("c", 300)}, {"(a * b + c) % 3 == 1", "a + b != 5"}));
  ASSERT_GT(space.size(), 5'000u);
  std::vector<std::uint16_t> row(3);
  std::uint64_t found = 0;
  for (std::uint16_t a = 0; a < 11; ++a) {
    for (std::uint16_t b = 0; b < 7; ++b) {
      for (std::uint16_t c = 0; c < 300; ++c) {
        const bool valid = (a * b + c) % 3 == 1 && a + b != 5;
        const std::optional<std::uint64_t> index = space.find(std::vector<std::uint16_t>{a, b, c});
        ASSERT_EQ(index.has_value(), valid);
        if (!index) continue;
        ASSERT_EQ(*index, found++);
        space.row(*index, row);
        ASSERT_EQ(row, (std::vector<std::uint16_t>{a, b, c}));
        ASSERT_EQ(space.find(space.configuration(*index)), index);
      }
    }
  }
  EXPECT_EQ(found, space.size());
}

TEST(SearchSpace, WhatIsNotInTheSpaceIsNotFound) {
  const SearchSpace space = SearchSpace::build(define({integers("a", {1, 2}), integers("b", {1, 2})}, {"a <= b"}));
  EXPECT_FALSE(space.find(std::vector<std::uint16_t>{1, 0}));
  EXPECT_FALSE(space.find(std::vector<std::uint16_t>{0, 2}));
  EXPECT_FALSE(space.find(std::vector<std::uint16_t>{0}));
  Configuration configuration;
  configuration.set("a", std::int64_t{1});
  EXPECT_FALSE(space.find(configuration));
  configuration.set("b", std::int64_t{3});
  EXPECT_FALSE(space.find(configuration));
  configuration.set("b", std::string("2"));
  EXPECT_FALSE(space.find(configuration));
  configuration.set("b", std::int64_t{2});
  EXPECT_EQ(space.find(configuration), 1u);
  configuration.set("c", std::int64_t{2});
  EXPECT_FALSE(space.find(configuration));
  std::vector<std::uint16_t> row(2);
  EXPECT_THROW(space.row(3, row), std::out_of_range);
}

TEST(SearchSpace, EmptySpacesAreNoError) {
  EXPECT_EQ(SearchSpace::build(define({counting("a", 3)}, {"a > 5"})).size(), 0u);
  EXPECT_EQ(SearchSpace::build(define({counting("a", 3), counting("b", 3)}, {"a + b > 5"})).size(), 0u);
  EXPECT_EQ(SearchSpace::build(define({counting("a", 3)}, {"1 == 2"})).size(), 0u);
  EXPECT_EQ(SearchSpace::build(define({counting("a", 3), counting("b", 2)}, {"a < 0", "1 // b > 0"})).size(), 0u);
}

TEST(SearchSpace, NoParametersGiveOneConfiguration) {
  const SearchSpace space = SearchSpace::build(define({}));
  EXPECT_EQ(space.size(), 1u);
  EXPECT_TRUE(space.configuration(0).empty());
  EXPECT_EQ(SearchSpace::build(define({}, {"1 > 2"})).size(), 0u);
}

TEST(SearchSpace, FailingConstraintNamesTextColumnAndValues) {
  const std::string message = message_of([] { SearchSpace::build(define({integers("a", {6}), counting("b", 3)}, {"a // b >= 0"})); });
  EXPECT_NE(message.find("constraint \"a // b >= 0\", column 3: "), std::string::npos) << message;
  EXPECT_NE(message.find("a=6, b=0"), std::string::npos) << message;
  EXPECT_THROW(SearchSpace::build(define({integers("a", {1, 4'000'000'000'000'000'000})}, {"a * a > 0"})), InputError);
  EXPECT_THROW(SearchSpace::build(define({counting("a", 3)}, {"1 // 0 == 1"})), InputError);
}

TEST(SearchSpace, AFailureCountsOnlyWhereNothingElseRejects) {
  // Whatever the order of the constraints, b = 0 is never in question.
  for (const auto& constraints : std::vector<std::vector<std::string>>{
           {"b != 0", "a % b == 0"}, {"a % b == 0", "b != 0"}, {"a % b == 0", "a + b > a"}, {"a + b > a", "a % b == 0"}}) {
    EXPECT_EQ(SearchSpace::build(define({integers("a", {4, 6}), counting("b", 4)}, constraints)).size(), 5u);
  }
}

TEST(SearchSpace, TooLargeSpacesAreRefusedAtOnce) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 9; ++i) parameters.push_back(counting(fmt::format("p{}", i), 10));
  const std::string message = message_of([&] { SearchSpace::build(define(parameters), 200'000'000); });
  EXPECT_NE(message.find("more than 200000000 valid configurations (of 1e+09 combinations)"), std::string::npos) << message;
  EXPECT_THROW(SearchSpace::build(define({counting("a", 100), counting("b", 100)}, {"a <= b"}), 5'049), InputError);
  EXPECT_EQ(SearchSpace::build(define({counting("a", 100), counting("b", 100)}, {"a <= b"}), 5'050).size(), 5'050u);
  // An empty part makes the rest irrelevant.
  parameters.push_back(counting("last", 4));
  parameters.push_back(counting("least", 4));
  EXPECT_EQ(SearchSpace::build(define(parameters, {"last + least > 6"})).size(), 0u);
}

TEST(SearchSpace, LargeSpacesOfIndependentGroupsAreNotListed) {
  // 10^12 free combinations beside a group of two.
  std::vector<Parameter> parameters = {counting("x", 4)};
  for (int i = 0; i < 12; ++i) parameters.push_back(counting(fmt::format("p{}", i), 10));
  parameters.push_back(counting("y", 4));
  const SearchSpace space = SearchSpace::build(define(parameters, {"x < y"}));
  ASSERT_EQ(space.size(), 6'000'000'000'000u);
  EXPECT_LT(space.memory_bytes(), 4096u);
  Random random(1);
  std::vector<std::uint16_t> row(14);
  for (int n = 0; n < 1000; ++n) {
    const std::uint64_t index = random.below(space.size());
    space.row(index, row);
    ASSERT_LT(row[0], row[13]);
    ASSERT_EQ(space.find(std::span<const std::uint16_t>(row)), index);
  }
  row[0] = row[13];
  EXPECT_FALSE(space.find(std::span<const std::uint16_t>(row)));
  EXPECT_EQ(space.unused_values(0), std::vector<std::uint16_t>{3});
  EXPECT_EQ(space.unused_values(13), std::vector<std::uint16_t>{0});
}

TEST(SearchSpace, EightBytesAConfiguration) {
  const SearchSpace space = SearchSpace::build(define({counting("a", 100), counting("b", 100), counting("c", 7)}, {"a <= b"}));
  EXPECT_EQ(space.memory_bytes(), space.size() * 8);
}

TEST(SearchSpace, CartesianSizesBeyondSixtyFourBits) {
  std::vector<Parameter> parameters;
  std::vector<std::string> constraints;
  for (int i = 0; i < 30; ++i) {
    parameters.push_back(counting(fmt::format("p{}", i), 10));
    if (i > 0) constraints.push_back(fmt::format("p{} == p{}", i - 1, i));
  }
  constraints.push_back("p0 % 3 == 1");
  const SearchSpace space = SearchSpace::build(define(parameters, constraints));
  EXPECT_EQ(space.cartesian_size_text(), "1000000000000000000000000000000");
  EXPECT_DOUBLE_EQ(space.cartesian_size(), 1e30);
  ASSERT_EQ(space.size(), 3u);
  std::vector<std::uint16_t> row(30);
  for (std::uint64_t i = 0; i < 3; ++i) {
    space.row(i, row);
    EXPECT_EQ(row, std::vector<std::uint16_t>(30, static_cast<std::uint16_t>(1 + 3 * i)));
    EXPECT_EQ(space.find(std::span<const std::uint16_t>(row)), i);
  }
}

TEST(SearchSpace, IndependentPartsAreMultipliedInOrder) {
  // Parts a-c and b-d interleave, e is free.
  const SearchSpace space = SearchSpace::build(define(
      {counting("a", 9), counting("b", 9), counting("c", 9), counting("d", 9), counting("e", 3)}, {"a < c", "b > d"}));
  ASSERT_EQ(space.size(), 36u * 36u * 3u);
  std::vector<std::uint16_t> previous;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    std::vector<std::uint16_t> row(5);
    space.row(i, row);
    ASSERT_TRUE(row[0] < row[2] && row[1] > row[3]);
    ASSERT_LT(previous, row);
    previous = row;
  }
}

TEST(SearchSpace, FromRowsSortsAndDropsRepeats) {
  const std::vector<std::uint16_t> rows = {2, 0, 0, 1, 2, 0, 1, 1};
  const SearchSpace space = SearchSpace::from_rows(define({counting("a", 3), counting("b", 2)}), rows);
  EXPECT_EQ(displays(space), (std::vector<std::string>{"a=0,b=1", "a=1,b=1", "a=2,b=0"}));
  EXPECT_TRUE(space.listed());
  EXPECT_EQ(space.find(std::vector<std::uint16_t>{1, 1}), 1u);
  EXPECT_FALSE(space.find(std::vector<std::uint16_t>{1, 0}));
}

TEST(SpaceDefinition, BindsProblemAndDeviceAndAddsWhere) {
  const KernelSpec spec = KernelSpec::parse(parse_json_text(R"json({
    "tunebook": 1, "kernel": "vector_add", "summary": "c = a + b",
    "source": "kernel.cu", "entry": "vector_add", "instantiate": ["T", "BLOCK", "ITEMS"],
    "problem": {"n": {"default": 4096, "verify": [64]}, "dtype": {"values": ["f32", "f16"], "default": "f32"}},
    "parameters": {"BLOCK": {"values": [64, 128, 256, 512]}, "ITEMS": {"values": [1, 2, 4, 8]}},
    "constraints": ["BLOCK * ITEMS <= n", "BLOCK <= device.max_threads_per_block"],
    "presets": {"default": {"BLOCK": 64, "ITEMS": 1}},
    "launch": {"block": ["BLOCK"], "grid": ["ceil_div(n, BLOCK * ITEMS)"], "shared_bytes": "0"},
    "arguments": [{"name": "c", "type": "T*", "count": "n", "access": "out"},
                  {"name": "a", "type": "T*", "count": "n", "access": "in", "fill": "uniform(-1, 1)"},
                  {"name": "n", "type": "i64", "value": "n"}],
    "reference": {"source": "reference.cu", "entry": "vector_add_reference", "block": ["256"], "grid": ["ceil_div(n, 256)"]},
    "tolerance": {"f32": {"rel": "2 * eps", "abs": "0"}, "f16": {"rel": "2 * eps", "abs": "0"}}
  })json", "kernel.json"), "kernel.json");
  Device device;
  device.kind = "cuda";
  const auto size = [&](std::int64_t n, const std::vector<std::string>& where) {
    Problem problem = spec.default_problem();
    problem.set("n", n);
    return SearchSpace::build(space_definition(spec, problem, device, where)).size();
  };
  EXPECT_EQ(size(4096, {}), 16u);
  EXPECT_EQ(size(512, {}), 10u);
  EXPECT_EQ(size(512, {"ITEMS > 1", "BLOCK != 128"}), 4u);
  device.limits.max_threads_per_block = 128;
  EXPECT_EQ(size(4096, {}), 8u);
  EXPECT_THROW(size(4096, {"BLOK > 1"}), InputError);
}

TEST(CompileWhere, NamesTextAndColumn) {
  Names names;
  names.add("BLOCK");
  EXPECT_EQ(compile_where({"BLOCK > 3", "BLOCK < 5"}, names).size(), 2u);
  const std::string message = message_of([&] { compile_where({"1 + BLOK > 3"}, names); });
  EXPECT_NE(message.find("--where \"1 + BLOK > 3\", column 5: "), std::string::npos) << message;
  EXPECT_NE(message.find("BLOCK"), std::string::npos) << message;
  EXPECT_THROW(compile_where({"BLOCK >"}, names), InputError);
}

}  // namespace
}  // namespace tunebook
