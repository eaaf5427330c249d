#include "core/launch_plan.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json_text.h"

namespace tunebook {
namespace {

using Defines = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kSpec = R"json({
  "tunebook": 1, "kernel": "k", "source": "kernel.cu", "entry": "ns::k", "instantiate": ["T", "TILE", "PAD", "ACC", "LAYOUT", "n", "math"],
  "options": ["--use_fast_math"],
  "problem": {"n": {"default": 100}, "m": {"default": 10}, "dtype": {"values": ["f32", "f16", "f64"], "default": "f32"}, "math": {"values": ["exact", "fast"], "default": "exact"}},
  "parameters": {"TILE": {"values": [8, 16, 64]}, "PAD": {"values": [false, true]}, "ACC": {"values": ["f32", "f64"], "type": true}, "LAYOUT": {"values": ["row", "f64"]}},
  "presets": {"default": {"TILE": 16, "PAD": true, "ACC": "f64", "LAYOUT": "f64"}},
  "launch": {"block": ["TILE", "TILE"], "grid": ["ceil_div(n, TILE)", "m"], "shared_bytes": "TILE * (TILE + (PAD ? 1 : 0)) * sizeof(T)"},
  "arguments": [{"name": "c", "type": "T*", "count": "n", "access": "out"}],
  "reference": {"source": "reference.cu", "entry": "k_reference", "block": ["32"], "grid": ["ceil_div(n, 32)"]},
  "tolerance": {"f32": {"rel": "0", "abs": "0"}, "f16": {"rel": "0", "abs": "0"}, "f64": {"rel": "0", "abs": "0"}}
})json";

KernelSpec spec_with(const char* pointer = nullptr, const char* value = nullptr) {
  auto json = parse_json_text(kSpec, "kernel.json");
  if (pointer != nullptr) json[nlohmann::ordered_json::json_pointer(pointer)] = nlohmann::ordered_json::parse(value);
  return KernelSpec::parse(json, "kernel.json");
}

TEST(LaunchPlan, EvaluatesEveryExtent) {
  const KernelSpec spec = spec_with();
  auto scope = spec.scope(spec.parse_shape("1000,7,f16"), KernelSpec::generic_device());
  spec.bind(scope, *spec.find_preset("default"));
  const LaunchShape shape = evaluate_launch(spec.launches.front(), scope, spec.name);
  EXPECT_EQ(shape.block, (std::array<std::int64_t, 3>{16, 16, 1}));
  EXPECT_EQ(shape.grid, (std::array<std::int64_t, 3>{63, 7, 1}));
  EXPECT_EQ(shape.shared_bytes, 16 * 17 * 2);
  EXPECT_EQ(shape.threads(), 256);
  EXPECT_EQ(evaluate_launch(spec.reference.launch, scope, spec.name).grid[0], 32);
}

TEST(LaunchPlan, FailingExpressionsAreNamed) {
  const KernelSpec spec = spec_with("/launch/grid/1", "\"m // (17 - TILE)\"");
  auto scope = spec.scope(spec.default_problem(), KernelSpec::generic_device());
  const auto error = [&](const char* configuration) -> std::string {
    spec.bind(scope, spec.parse_configuration(configuration));
    try {
      evaluate_launch(spec.launches.front(), scope, spec.name);
    } catch (const InputError& caught) {
      return caught.what();
    }
    return "";
  };
  EXPECT_EQ(error("TILE=8,PAD=true,ACC=f32,LAYOUT=row"), "");
  EXPECT_EQ(error("TILE=64,PAD=true,ACC=f32,LAYOUT=row"), "kernel k: launch/grid/1 \"m // (17 - TILE)\" gives -1, expected at least 0");
  const KernelSpec division = spec_with("/launch/grid/1", "\"m // (8 - TILE) + 100\"");
  auto other = division.scope(division.default_problem(), KernelSpec::generic_device());
  division.bind(other, division.parse_configuration("TILE=8,PAD=true,ACC=f32,LAYOUT=row"));
  EXPECT_THROW(evaluate_launch(division.launches.front(), other, "k"), InputError);
}

TEST(LaunchPlan, LimitsSayBothNumbers) {
  DeviceLimits limits;
  limits.shared_bytes_per_block_optin = 232448;
  const auto violated = [&](std::array<std::int64_t, 3> block, std::array<std::int64_t, 3> grid, std::int64_t dynamic, std::int64_t fixed) {
    return launch_limit_violated({grid, block, dynamic}, fixed, limits);
  };
  EXPECT_EQ(violated({32, 32, 1}, {2147483647, 65535, 65535}, 232448, 0), "");
  EXPECT_EQ(violated({64, 32, 1}, {1, 1, 1}, 0, 0), "block of 2048 threads, the device allows 1024");
  EXPECT_EQ(violated({2048, 1, 1}, {1, 1, 1}, 0, 0), "block of 2048 in x, the device allows 1024");
  EXPECT_EQ(violated({1, 1, 65}, {1, 1, 1}, 0, 0), "block of 65 in z, the device allows 64");
  EXPECT_EQ(violated({std::int64_t{1} << 40, std::int64_t{1} << 40, 1}, {1, 1, 1}, 0, 0), "block of 1099511627776 in x, the device allows 1024");
  EXPECT_EQ(violated({1, 1, 1}, {1, 65536, 1}, 0, 0), "grid of 65536 in y, the device allows 65535");
  EXPECT_EQ(violated({1, 1, 1}, {1, 1, 0}, 0, 0), "grid of 0 in z, which must be at least 1");
  EXPECT_EQ(violated({1, 1, 1}, {1, 1, 1}, 232449, 0), "232449 bytes of shared memory per block, the device allows 232448");
  EXPECT_EQ(violated({1, 1, 1}, {1, 1, 1}, 232440, 16), "232456 bytes of shared memory per block (232440 dynamic, 16 static), the device allows 232448");
  EXPECT_NE(violated({1, 1, 1}, {1, 1, 1}, INT64_MAX, INT64_MAX), "");
}

TEST(LaunchPlan, TemplateArgumentsAreCudaSource) {
  const KernelSpec spec = spec_with();
  const Instantiation out = instantiate(spec, spec.parse_shape("1000,7,f16,fast"), *spec.find_preset("default"));
  EXPECT_EQ(out.entry, "ns::k");
  // LAYOUT's "f64" is a word, not a type: only parameters declared as types are translated.
  EXPECT_EQ(out.name_expression, "ns::k<__half, 16, true, double, f64, 1000, fast>");
  EXPECT_TRUE(out.defines.empty());
  EXPECT_EQ(out.options, (std::vector<std::string>{"--use_fast_math"}));
  EXPECT_EQ(instantiate_reference(spec, spec.parse_shape("1,1,f64")).name_expression, "k_reference<double>");
  const KernelSpec plain = spec_with("/instantiate", "[]");
  EXPECT_EQ(instantiate(plain, plain.default_problem(), *plain.find_preset("default")).name_expression, "ns::k");
  EXPECT_EQ(instantiate_reference(plain, plain.default_problem()).name_expression, "k_reference");
}

TEST(LaunchPlan, MacrosGetParametersAndWhatDefineLists) {
  auto json = parse_json_text(kSpec, "kernel.json");
  json["instantiate"] = "macros";
  json["define"] = {"m", "T", "math", "dtype"};
  const KernelSpec spec = KernelSpec::parse(json, "kernel.json");
  const Instantiation out = instantiate(spec, spec.default_problem(), *spec.find_preset("default"));
  EXPECT_EQ(out.name_expression, "ns::k");
  EXPECT_EQ(out.defines, (Defines{{"TILE", "16"}, {"PAD", "true"}, {"ACC", "double"}, {"LAYOUT", "f64"}, {"m", "10"}, {"T", "float"}, {"math", "exact"}, {"dtype", "float"}}));
  const Instantiation reference = instantiate_reference(spec, spec.default_problem());
  EXPECT_EQ(reference.name_expression, "k_reference");
  EXPECT_EQ(reference.defines, (Defines{{"m", "10"}, {"T", "float"}, {"math", "exact"}, {"dtype", "float"}}));
}

// Three kernels: the first several times, the last only where the work was split.
KernelSpec spec_of_several() {
  auto json = parse_json_text(kSpec, "kernel.json");
  json["launch"] = nlohmann::ordered_json::parse(R"json([
    {"repeat": "ceil_div(n, TILE * 10)", "block": ["TILE"], "grid": ["n"]},
    {"entry": "middle", "instantiate": ["T"], "block": ["32"], "grid": ["m"], "shared_bytes": "64"},
    {"entry": "ns::k", "repeat": "PAD", "block": ["1"], "grid": ["1"]},
    {"entry": "last", "instantiate": [], "repeat": "TILE > 8", "block": ["1"], "grid": ["1"]}])json");
  json["arguments"] = nlohmann::ordered_json::parse(R"json([
    {"name": "c", "type": "T*", "count": "n", "access": "out"},
    {"name": "w", "type": "f32*", "count": "n * TILE", "access": "workspace"},
    {"name": "first", "type": "i64", "value": "iteration * TILE"},
    {"name": "n", "type": "i64", "value": "n"},
    {"name": "scale", "type": "f64", "value": "TILE / 3"}])json");
  return KernelSpec::parse(json, "kernel.json");
}

LaunchSequence plan_of(const KernelSpec& spec, const char* shape, const char* configuration) {
  const Problem problem = spec.parse_shape(shape);
  const Configuration chosen = spec.parse_configuration(configuration);
  auto scope = spec.scope(problem, KernelSpec::generic_device());
  spec.bind(scope, chosen);
  return plan_launches(spec, problem, chosen, scope);
}

TEST(LaunchPlan, SeveralKernelsAreLaunchedInOrder) {
  const KernelSpec spec = spec_of_several();
  const LaunchSequence plan = plan_of(spec, "400,7,f16", "TILE=16,PAD=true,ACC=f32,LAYOUT=row");
  ASSERT_EQ(plan.launches.size(), 3U + 1 + 1 + 1);
  std::vector<std::size_t> kernels;
  for (const PlannedLaunch& launch : plan.launches) kernels.push_back(launch.kernel);
  EXPECT_EQ(kernels, (std::vector<std::size_t>{0, 0, 0, 1, 0, 2}));
  for (std::int64_t i = 0; i < 3; ++i) {
    const PlannedLaunch& launch = plan.launches[static_cast<std::size_t>(i)];
    ASSERT_EQ(launch.scalars.size(), 2U);
    EXPECT_EQ(launch.scalars[0].argument, 2);
    EXPECT_EQ(launch.scalars[0].integer, i * 16);
    EXPECT_EQ(launch.scalars[1].argument, 4);
    EXPECT_DOUBLE_EQ(launch.scalars[1].real, 16.0 / 3);
    EXPECT_EQ(launch.shape.grid[0], 400);
  }
  EXPECT_EQ(plan.launches[3].shape.grid[0], 7);
  EXPECT_EQ(plan.launches[3].shape.shared_bytes, 64);
  EXPECT_EQ(plan.launches[4].scalars[0].integer, 0);
  ASSERT_EQ(plan.workspaces.size(), 1U);
  EXPECT_EQ(plan.workspaces[0].argument, 1);
  EXPECT_EQ(plan.workspaces[0].count, 400 * 16);
}

TEST(LaunchPlan, KernelsAreInstantiatedOnceAndIndependentlyOfTheSizes) {
  const KernelSpec spec = spec_of_several();
  const auto names = [&](const char* configuration) {
    const Instantiation made = instantiate(spec, spec.default_problem(), spec.parse_configuration(configuration));
    std::vector<std::string> all = {made.name_expression};
    for (const KernelName& other : made.others) all.push_back(other.expression);
    return all;
  };
  EXPECT_EQ(names("TILE=16,PAD=true,ACC=f32,LAYOUT=row"),
            (std::vector<std::string>{"ns::k<float, 16, true, float, row, 100, exact>", "middle<float>", "last"}));
  // `last` is never launched with this configuration; the first kernel is, whatever n is.
  EXPECT_EQ(names("TILE=8,PAD=false,ACC=f32,LAYOUT=row"),
            (std::vector<std::string>{"ns::k<float, 8, false, float, row, 100, exact>", "middle<float>"}));
}

TEST(LaunchPlan, TooManyLaunchesAndNoneAreErrors) {
  const KernelSpec spec = spec_of_several();
  EXPECT_THROW(plan_of(spec, "1000000,7", "TILE=16,PAD=true,ACC=f32,LAYOUT=row"), InputError);  // 6250 times
  auto json = parse_json_text(kSpec, "kernel.json");
  json["launch"]["repeat"] = "m - 10";
  const auto refused = [&] {
    try {
      KernelSpec::parse(json, "kernel.json");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused(), "");  // 0 times for the default problem is no fault of the declaration: it is one of a configuration
  const KernelSpec never = KernelSpec::parse(json, "kernel.json");
  EXPECT_THROW(plan_of(never, "100,10", "TILE=16,PAD=true,ACC=f32,LAYOUT=row"), InputError);
  EXPECT_EQ(plan_of(never, "100,12", "TILE=16,PAD=true,ACC=f32,LAYOUT=row").launches.size(), 2U);
}

TEST(LaunchPlan, AScalarThatItsTypeCannotHoldIsAnError) {
  auto json = parse_json_text(kSpec, "kernel.json");
  json["arguments"].push_back({{"name", "s"}, {"type", "u8"}, {"value", "TILE * 5"}});
  const KernelSpec spec = KernelSpec::parse(json, "kernel.json");
  EXPECT_EQ(plan_of(spec, "100,10", "TILE=16,PAD=true,ACC=f32,LAYOUT=row").launches.front().scalars.at(0).integer, 80);
  try {
    plan_of(spec, "100,10", "TILE=64,PAD=true,ACC=f32,LAYOUT=row");
    ADD_FAILURE() << "320 in a u8";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("/arguments 's'/value: `TILE * 5` gives 320"), std::string::npos) << error.what();
  }
}

TEST(LaunchPlan, WorkspacesGrowToTheLargest) {
  std::vector<WorkspaceSize> sizes = {{1, 10}, {4, 7}};
  enlarge(sizes, {{4, 9}, {2, 1}});
  enlarge(sizes, {{1, 3}});
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_EQ(sizes[0].count, 10);
  EXPECT_EQ(sizes[1].count, 9);
  EXPECT_EQ(sizes[2].argument, 2);
}

}  // namespace
}  // namespace tunebook
