// What a declaration says of several launches, workspaces and defaults by data type.

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/spec.h"
#include "core/spec_shapes.h"

namespace tunebook {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSpec = R"json({
  "tunebook": 1, "kernel": "k", "source": "kernel.cu", "entry": "k", "instantiate": ["T", "B"],
  "problem": {
    "n": {"default": 100},
    "math": {"values": ["ieee", "tensor"], "default": {"f32": "ieee", "f16": "tensor"}},
    "dtype": {"values": ["f32", "f16"], "default": "f32"}},
  "parameters": {"B": {"values": [32, 64]}},
  "presets": {"default": {"B": 32}},
  "launch": [
    {"repeat": "2", "block": ["B"], "grid": ["n"]},
    {"entry": "ns::finish", "instantiate": ["T"], "block": ["1"], "grid": ["1"]}],
  "arguments": [
    {"name": "c", "type": "T*", "count": "n", "access": "out"},
    {"name": "w", "type": "T*", "count": "n * B", "access": "workspace"},
    {"name": "z", "type": "u32*", "count": "device.sm_count", "access": "workspace", "fill": "zero"},
    {"name": "i", "type": "i32", "value": "iteration + B"}],
  "reference": {"source": "reference.cu", "entry": "r", "block": ["32"], "grid": ["n"]},
  "tolerance": {"f32": {"rel": "0", "abs": "0"}, "f16": {"rel": "0", "abs": "math == 'tensor' ? eps : eps / 2"}}
})json";

ordered_json declaration(const char* pointer = nullptr, const char* value = nullptr) {
  ordered_json json = parse_json_text(kSpec, "kernel.json");
  if (pointer != nullptr) json[ordered_json::json_pointer(pointer)] = ordered_json::parse(value);
  return json;
}

std::string fault(const char* pointer, const char* value) {
  try {
    KernelSpec::parse(declaration(pointer, value), "kernel.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void expect_fault(const char* pointer, const char* value, const std::string& part) {
  EXPECT_NE(fault(pointer, value).find(part), std::string::npos) << pointer << ": " << fault(pointer, value);
}

TEST(SpecLaunches, AreReadInOrder) {
  const KernelSpec spec = KernelSpec::parse(declaration(), "kernel.json");
  ASSERT_EQ(spec.launches.size(), 2U);
  EXPECT_EQ(spec.launches[0].entry, "k");
  EXPECT_EQ(spec.launches[0].instantiate, (std::vector<std::string>{"T", "B"}));
  EXPECT_EQ(spec.launches[0].repeat.text(), "2");
  EXPECT_EQ(spec.launches[1].entry, "ns::finish");
  EXPECT_EQ(spec.launches[1].instantiate, (std::vector<std::string>{"T"}));
  EXPECT_TRUE(spec.launches[1].repeat.empty());
  EXPECT_TRUE(spec.arguments[1].is_workspace());
  EXPECT_FALSE(spec.arguments[1].is_result());
  EXPECT_TRUE(spec.arguments[0].is_result());
  EXPECT_TRUE(spec.varies(spec.arguments[3]));
}

TEST(SpecLaunches, TheNormalisedDeclarationIsTheSame) {
  const KernelSpec spec = KernelSpec::parse(declaration(), "kernel.json");
  const ordered_json normalised = spec.to_json();
  EXPECT_EQ(KernelSpec::parse(normalised, "again").to_json(), normalised);
  EXPECT_EQ(normalised["launch"][1]["entry"], "ns::finish");
  EXPECT_EQ(normalised["problem"]["math"]["default"]["f16"], "tensor");
  EXPECT_EQ(normalised["arguments"][2]["fill"], "zero");
  EXPECT_EQ(normalised["arguments"][1]["access"], "workspace");
}

TEST(SpecLaunches, OneInAnArrayIsOne) {
  ordered_json json = declaration();
  const ordered_json first = json["launch"][0];
  json["launch"] = ordered_json::array({first});
  EXPECT_EQ(KernelSpec::parse(json, "kernel.json").to_json()["launch"]["block"], ordered_json::array({"B"}));
}

TEST(SpecLaunches, FaultsHaveTheirPlace) {
  expect_fault("/launch", "[]", "/launch: ");
  expect_fault("/launch/1/entri", "\"x\"", "did you mean \"entry\"?");
  expect_fault("/launch/1/entry", "\"1x\"", "/launch/1/entry: found \"1x\"");
  expect_fault("/launch/1/instantiate", "[\"BB\"]", "/launch/1/instantiate/0: found \"BB\"");
  expect_fault("/launch/0/repeat", "\"n +\"", "/launch/0/repeat: ");
  expect_fault("/launch/0/repeat", "\"iteration\"", "found \"iteration\"");
  expect_fault("/launch/0/repeat", "\"0 - 1\"", "expected an integer of at least 0");
  expect_fault("/launch/0/grid/0", "\"iteration\"", "found \"iteration\"");
  expect_fault("/arguments/0/count", "\"n * B\"", "found \"B\"");
  expect_fault("/arguments/1/fill", "\"uniform(0, 1)\"", "expected \"zero\"");
  expect_fault("/arguments/1/special", "[\"nan\"]", "expected none: it is no input");
  expect_fault("/arguments/1/access", "\"workspce\"", "\"workspace\"");
  expect_fault("/parameters/iteration", "{\"values\": [1]}", "has its own meaning in expressions");
}

TEST(SpecDefaults, FollowTheDataType) {
  const KernelSpec spec = KernelSpec::parse(declaration(), "kernel.json");
  EXPECT_EQ(spec.default_problem().display(), "n=100,math=ieee,dtype=f32");
  EXPECT_EQ(spec.parse_shape("7,f16").display(), "n=7,math=tensor,dtype=f16");
  EXPECT_EQ(spec.parse_shape("7").display(), "n=7,math=ieee,dtype=f32");
  EXPECT_EQ(spec.parse_shape("7,f16,ieee").display(), "n=7,math=ieee,dtype=f16");
}

TEST(SpecDefaults, FaultsHaveTheirPlace) {
  expect_fault("/problem/math/default", "{\"f32\": \"ieee\"}", "/problem/math/default: found no default for f16");
  expect_fault("/problem/math/default", "{\"f32\": \"ieee\", \"f16\": \"x\"}", "/problem/math/default/f16: found \"x\"");
  expect_fault("/problem/math/default", "{\"f32\": \"ieee\", \"f16\": \"ieee\", \"f46\": \"ieee\"}", "found the data type \"f46\"");
  expect_fault("/problem/dtype/default", "{\"f32\": \"f32\", \"f16\": \"f16\"}", "/problem/dtype/default: ");
}

TEST(SweepShapes, HaveEverySizeAndStaySmall) {
  ordered_json json = declaration();
  json["problem"]["m"] = {{"default", 7}};
  json["problem"]["fixed"] = {{"default", 5}};
  json["instantiate"] = {"T", "B", "fixed"};
  json["arguments"][0]["count"] = "n * m";
  const KernelSpec spec = KernelSpec::parse(json, "kernel.json");
  const std::vector<Problem> shapes = sweep_shapes(spec, spec.parse_shape("n=3,m=2,fixed=9,dtype=f16"), 300);
  EXPECT_GE(shapes.size(), 300U);
  std::set<std::int64_t> n, m;
  std::set<std::string> all;
  for (const Problem& shape : shapes) {
    n.insert(std::get<std::int64_t>(shape.at("n")));
    m.insert(std::get<std::int64_t>(shape.at("m")));
    EXPECT_TRUE(all.insert(shape.canonical()).second);
    EXPECT_EQ(shape.at("fixed"), Value(std::int64_t{9}));
    EXPECT_EQ(shape.at("math"), Value(std::string("tensor")));
    EXPECT_LE(std::get<std::int64_t>(shape.at("n")) * std::get<std::int64_t>(shape.at("m")), std::int64_t{1} << 18);
  }
  for (std::int64_t size = 1; size <= kEverySize; ++size) EXPECT_TRUE(n.count(size) == 1 && m.count(size) == 1) << size;
  EXPECT_GT(*n.rbegin(), 200);
  EXPECT_GT(std::count_if(shapes.begin(), shapes.end(), [](const Problem& one) { return std::get<std::int64_t>(one.at("n")) % 8 == 0; }), 100);
  EXPECT_EQ(sweep_shapes(spec, spec.default_problem(), 10), sweep_shapes(spec, spec.default_problem(), 10));
}

}  // namespace
}  // namespace tunebook
