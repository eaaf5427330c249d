#include "core/baseline.h"

#include <string>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/spec.h"

namespace tunebook {
namespace {

using nlohmann::ordered_json;

constexpr const char* kGemm = R"json({
  "tunebook": 1, "kernel": "gemm", "source": "kernel.cu", "entry": "gemm", "instantiate": ["T", "TILE"],
  "problem": {
    "m": {"default": 128}, "n": {"default": 256}, "k": {"default": 64},
    "dtype": {"values": ["f32", "f16", "i32"], "default": "f32"},
    "layout": {"values": ["nn", "nt"], "default": "nn"} },
  "parameters": {"TILE": {"values": [8, 16]}},
  "presets": {"default": {"TILE": 16}},
  "launch": {"block": ["TILE"], "grid": ["m"]},
  "arguments": [
    {"name": "c", "type": "T*", "count": "m * n", "access": "out"},
    {"name": "a", "type": "T*", "count": "m * k", "access": "in", "fill": "uniform_int(-1, 1)"},
    {"name": "b", "type": "T*", "count": "k * n", "access": "in", "fill": "uniform_int(-1, 1)"},
    {"name": "m", "type": "i64", "value": "m"} ],
  "reference": {"source": "reference.cu", "entry": "gemm_reference", "block": ["256"], "grid": ["m"]},
  "tolerance": {"f32": {"rel": "0", "abs": "0"}, "f16": {"rel": "0", "abs": "0"}},
  "baseline": {"operation": "gemm", "buffers": ["c", "a", "b"], "when": "dtype != 'i32'",
               "parameters": {"m": "m", "n": "n", "k": "k", "transpose_b": "layout == 'nt'", "alpha": "0.5"}}
})json";

ordered_json gemm() { return parse_json_text(kGemm, "kernel.json"); }

ordered_json with_baseline(const char* pointer, const char* value) {
  ordered_json json = gemm();
  json[ordered_json::json_pointer(std::string("/baseline") + pointer)] = ordered_json::parse(value);
  return json;
}

// What parse() has to say; "" if nothing.
std::string error_of(const ordered_json& json) {
  try {
    KernelSpec::parse(json, "kernel.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string parameter(const BaselineLaunch& launch, const std::string& name) {
  for (const auto& [known, text] : launch.parameters) if (known == name) return text;
  return "none";
}

std::optional<BaselineLaunch> launch_for(const ordered_json& json, const char* shape) {
  const KernelSpec spec = KernelSpec::parse(json, "kernel.json");
  return evaluate_baseline(spec, spec.parse_shape(shape), KernelSpec::generic_device());
}

TEST(Baseline, IsEvaluatedForAProblemWithDefaultsWrittenOut) {
  const auto launch = launch_for(gemm(), "m=3,n=5,k=7,layout=nt");
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->operation, "gemm");
  EXPECT_EQ(launch->arguments, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(parameter(*launch, "m"), "3");
  EXPECT_EQ(parameter(*launch, "n"), "5");
  EXPECT_EQ(parameter(*launch, "k"), "7");
  EXPECT_EQ(parameter(*launch, "transpose_a"), "0");
  EXPECT_EQ(parameter(*launch, "transpose_b"), "1");
  EXPECT_EQ(parameter(*launch, "alpha"), "0.5");
  EXPECT_EQ(parameter(*launch, "beta"), "0");
  EXPECT_EQ(parameter(*launch, "math"), "ieee");
  EXPECT_EQ(parameter(*launch_for(gemm(), "m=3,n=5,k=7,dtype=f16"), "math"), "tensor");
}

TEST(Baseline, AppliesWhereItsConditionHolds) {
  EXPECT_FALSE(launch_for(gemm(), "m=3,n=5,k=7,dtype=i32"));
  ordered_json none = gemm();
  none.erase("baseline");
  EXPECT_FALSE(launch_for(none, "m=3,n=5,k=7"));
}

TEST(Baseline, IsWrittenAsItIsRead) {
  const ordered_json written = KernelSpec::parse(gemm(), "kernel.json").to_json();
  EXPECT_EQ(written["baseline"]["operation"], "gemm");
  EXPECT_EQ(written["baseline"]["parameters"]["transpose_b"], "layout == 'nt'");
  EXPECT_EQ(written["baseline"]["when"], "dtype != 'i32'");
  EXPECT_EQ(KernelSpec::parse(written, "again").to_json(), written);
}

struct BadCase {
  const char* pointer;
  const char* value;
  const char* message;
};

TEST(Baseline, EveryFaultIsToldWithItsPlaceAndTheNearestName) {
  const BadCase cases[] = {
      {"", "7", "/baseline: found 7, expected an object with the keys operation, buffers, parameters, when"},
      {"/operatoin", "\"gemm\"", "/baseline/operatoin: found the unknown key \"operatoin\""},
      {"/operation", "\"gem\"", "/baseline/operation: found \"gem\", expected one of gemm, conv2d, reduce, scan, copy; did you mean \"gemm\"?"},
      {"/buffers", "[\"c\", \"a\"]", "/baseline/buffers: found 2 buffers, expected an array with the arguments that are c, a, b, c_in of gemm"},
      {"/buffers/2", "\"m\"", "/baseline/buffers/2: found \"m\", expected a pointer argument (c, a, b)"},
      {"/buffers/2", "\"a\"", "/baseline/buffers/2: found \"a\" a second time"},
      {"/parameters/transpose_c", "1", "/baseline/parameters/transpose_c: found the unknown parameter \"transpose_c\", expected one of m, n, k"},
      {"/parameters", "{\"m\": \"m\", \"n\": \"n\"}", "/baseline/parameters: found no parameter \"k\", expected gemm to have it"},
      {"/parameters/m", "\"rows\"", "/baseline/parameters/m: found \"rows\", expected an expression: column 1: "},
      {"/parameters/m", "\"TILE\"", "/baseline/parameters/m: found \"TILE\" in \"TILE\", expected only m, n, k"},
      {"/parameters/m", "\"m - 128\"", "/baseline/parameters/m: found \"m - 128\", expected an integer of at least 1 for m=128"},
      {"/parameters/m", "\"m / 3\"", "it gives 42.6"},
      {"/parameters/k", "\"k // 0\"", "/baseline/parameters/k: found \"k // 0\", expected an integer of at least 1"},
      {"/parameters/transpose_a", "2", "expected true or false for m=128"},
      {"/parameters/math", "\"'fast'\"", "expected one of ieee, tensor for m=128"},
      {"/parameters/math", "\"ieee\"", "a text in it has quotes of its own, \"'ieee'\""},
      {"/when", "\"m //\"", "/baseline/when: found \"m //\", expected an expression"},
      {"/when", "\"m // 0\"", "/baseline/when: found \"m // 0\", expected true or false for m=128"},
  };
  for (const BadCase& bad : cases) {
    const std::string error = error_of(with_baseline(bad.pointer, bad.value));
    EXPECT_NE(error.find(bad.message), std::string::npos) << bad.pointer << " = " << bad.value << " gives \"" << error << "\"";
  }
}

TEST(Baseline, OnlyOneFaultOfAnExpressionIsToldForAllDataTypes) {
  const std::string error = error_of(with_baseline("/parameters/m", "\"0\""));
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

TEST(Baseline, ParametersMayBeLeftOutWhereTheOperationHasNone) {
  ordered_json json = gemm();
  json["baseline"] = {{"operation", "copy"}, {"buffers", {"c", "a"}}};
  const auto launch = launch_for(json, "m=3,n=5,k=7");
  ASSERT_TRUE(launch);
  EXPECT_TRUE(launch->parameters.empty());
  json["baseline"]["parameters"] = {{"n", "n"}};
  EXPECT_NE(error_of(json).find("expected none: copy has no parameters"), std::string::npos) << error_of(json);
}

TEST(Baseline, AnArgmaxMayNameItsIndex) {
  ordered_json json = gemm();
  json["arguments"][2]["name"] = "index";
  json["baseline"] = {{"operation", "reduce"}, {"buffers", {"c", "a", "index"}}, {"parameters", {{"n", "m"}, {"operation", "'argmax'"}}}};
  const auto launch = launch_for(json, "m=3,n=5,k=7");
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->arguments.size(), 3u);
  EXPECT_EQ(parameter(*launch, "operation"), "argmax");
  // A sum leaves it alone.
  json["baseline"]["parameters"]["operation"] = "'argmax' if layout == 'nt' else 'sum'";
  EXPECT_EQ(launch_for(json, "m=3,n=5,k=7,layout=nn")->arguments, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(launch_for(json, "m=3,n=5,k=7,layout=nt")->arguments, (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(Baseline, StatesHaveNamesOfTheirOwn) {
  for (const BaselineState state : {BaselineState::ok, BaselineState::unavailable, BaselineState::wrong_result, BaselineState::failed}) {
    EXPECT_EQ(parse_baseline_state(baseline_state_name(state)), state);
  }
  EXPECT_FALSE(parse_baseline_state("fine"));
}

}  // namespace
}  // namespace tunebook
