// The preset "default", chosen by the problem, and named features.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/spec.h"
#include "spec_samples.h"

namespace tunebook {
namespace {

// Three presets; which is the default depends on the size, the data type and the device.
nlohmann::ordered_json choosing() {
  return with(vector_add(), "/presets", R"({
    "one": {"BLOCK": 64, "ITEMS": 1}, "wide": {"BLOCK": 512, "ITEMS": 8}, "general": {"BLOCK": 256, "ITEMS": 4},
    "default": [{"when": "n <= 100 and device.kind == 'cuda'", "preset": "one"},
                {"when": "n >= 4000 // (n - 500) and sizeof(T) == 2", "preset": "wide"},
                {"preset": "general"}]})");
}

std::string chosen(const KernelSpec& spec, const std::string& shape,
                   const std::string& kind = "cuda") {
  Device device = KernelSpec::generic_device();
  device.kind = kind;
  const Configuration& preset = spec.default_preset(spec.parse_shape(shape), device);
  for (const auto& [name, configuration] : spec.presets) {
    if (name != "default" && configuration == preset) return name;
  }
  return "none";
}

TEST(DefaultPreset, TheFirstChoiceThatHoldsAndIsValidCounts) {
  const KernelSpec spec = KernelSpec::parse(choosing(), "kernel.json");
  EXPECT_TRUE(spec.chooses_default());
  EXPECT_EQ(spec.find_preset("default")->display(), "BLOCK=256,ITEMS=4");  // what holds everywhere
  EXPECT_EQ(chosen(spec, "100,f32"), "one");
  EXPECT_EQ(chosen(spec, "100,f32", "cpu"), "general");
  EXPECT_EQ(chosen(spec, "101,f32"), "general");
  EXPECT_EQ(chosen(spec, "4000,f16"), "wide");
  EXPECT_EQ(chosen(spec, "4000,f32"), "general");
  EXPECT_EQ(chosen(spec, "500,f16"), "general")
      << "a condition that cannot be evaluated does not hold";
  EXPECT_TRUE(spec.check_presets(KernelSpec::generic_device()).empty());

  // The condition holds, but the preset is not valid there: the next one counts.
  const KernelSpec narrow = KernelSpec::parse(
      with(choosing(), "/constraints/0", "\"BLOCK < 512 or n > 5000\""), "kernel.json");
  EXPECT_EQ(chosen(narrow, "4000,f16"), "general");
  EXPECT_EQ(chosen(narrow, "5001,f16"), "wide");

  // What the cpu cannot run is no default there.
  const KernelSpec host =
      KernelSpec::parse(with(choosing(), "/cpu", "\"BLOCK < 512\""), "kernel.json");
  EXPECT_EQ(chosen(host, "4000,f16"), "wide");
  EXPECT_EQ(chosen(host, "4000,f16", "cpu"), "general");
}

TEST(DefaultPreset, ChoicesAreGivenInOrder) {
  const KernelSpec spec = KernelSpec::parse(choosing(), "kernel.json");
  const auto names = [&](const std::string& shape) {
    std::vector<std::string> list;
    for (const DefaultChoice* choice :
         spec.default_choices_for(spec.parse_shape(shape), KernelSpec::generic_device()))
      list.push_back(choice->preset);
    return list;
  };
  EXPECT_EQ(names("50,f16"), (std::vector<std::string>{"one", "wide", "general"}));
  EXPECT_EQ(names("50,f32"), (std::vector<std::string>{"one", "general"}));
  EXPECT_EQ(names("4000,f32"), (std::vector<std::string>{"general"}));
}

TEST(DefaultPreset, ADeclarationWithoutChoicesIsAsItWas) {
  const KernelSpec spec = spec_of(kVectorAdd);
  EXPECT_FALSE(spec.chooses_default());
  EXPECT_EQ(&spec.default_preset(spec.default_problem(), KernelSpec::generic_device()),
            spec.find_preset("default"));
  ASSERT_EQ(spec.default_choices.size(), 1U);
  EXPECT_TRUE(spec.default_choices.front().when.empty());
}

TEST(DefaultPreset, TheLastChoiceMustBeValidEverywhere) {
  // "general" holds 1,024 elements a block; "one" is valid for all sizes, but it is not the last.
  const std::string declared =
      error_of(with(choosing(), "/constraints/0", "\"BLOCK * ITEMS <= 512 or n > 1000\""));
  expect_contains(
      declared,
      "kernel.json: /presets/default: found BLOCK=256,ITEMS=4, which violates /constraints/0");
  const KernelSpec odd = KernelSpec::parse(
      with(choosing(), "/constraints/0", "\"n % 2 == 1 or n == 16777216 or BLOCK == 64\""),
      "kernel.json");
  EXPECT_EQ(odd.check_default_on_random_shapes(KernelSpec::generic_device()).size(), 1U);
  const KernelSpec good = KernelSpec::parse(choosing(), "kernel.json");
  EXPECT_TRUE(good.check_default_on_random_shapes(KernelSpec::generic_device()).empty());

  // A preset that a choice names and that is valid nowhere is told as any other.
  const KernelSpec never =
      KernelSpec::parse(with(choosing(), "/constraints/0", "\"BLOCK < 512\""), "kernel.json");
  const auto messages = never.check_presets(KernelSpec::generic_device());
  ASSERT_EQ(messages.size(), 1U);
  expect_contains(messages[0],
                  "/presets/wide: found BLOCK=512,ITEMS=8, which violates /constraints/0");
}

TEST(Features, AreExactAndMayLackAValue) {
  const KernelSpec spec = KernelSpec::parse(
      with(
          vector_add(), "/features",
          R"json({"waste": "round_up(n, BLOCK * ITEMS) / n", "blocks": "ceil_div(n, BLOCK * ITEMS)", "odd": "1 // (n % 2)"})json"),
      "f");
  ASSERT_EQ(spec.features.size(), 3U);
  EXPECT_EQ(spec.features[0].first, "waste");
  auto scope = spec.scope(spec.parse_shape("1000"), KernelSpec::generic_device());
  spec.bind(scope, spec.parse_configuration("BLOCK=128,ITEMS=8"));
  const Scalar waste = spec.features[0].second.evaluate(scope);
  EXPECT_EQ(waste.kind, Scalar::Kind::rational);
  EXPECT_EQ(waste.a, 128);
  EXPECT_EQ(waste.b, 125);
  EXPECT_EQ(spec.features[1].second.evaluate_integer(scope), 1);
  EXPECT_THROW(spec.features[2].second.evaluate(scope),
               ExpressionError);  // no fault of the declaration

  std::string many = "{";
  for (std::size_t i = 0; i <= KernelSpec::kMaxFeatures; ++i)
    many += (i == 0 ? "\"f" : ", \"f") + std::to_string(i) + "\": \"n\"";
  expect_contains(error_of(with(vector_add(), "/features", (many + "}").c_str())),
                  "/features: found 65 features, expected at most 64");
}

}  // namespace
}  // namespace tunebook
