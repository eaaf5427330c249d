#include "core/spec.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/fill_value.h"
#include "core/json_text.h"
#include "core/random.h"
#include "core/spec_keys.h"
#include "spec_samples.h"

namespace tunebook {
namespace {

using nlohmann::ordered_json;

TEST(Spec, TheExampleOfTheDesignMeansWhatItSays) {
  const KernelSpec spec = spec_of(kVectorAdd);
  EXPECT_EQ(spec.name, "vector_add");
  EXPECT_EQ(spec.summary, "c = a + b");
  EXPECT_EQ(spec.source, "kernel.cu");
  EXPECT_FALSE(spec.macros);
  EXPECT_EQ(spec.instantiate, (std::vector<std::string>{"T", "BLOCK", "ITEMS"}));
  ASSERT_EQ(spec.dimensions.size(), 2U);
  EXPECT_EQ(spec.dimensions[0].verify, (std::vector<std::int64_t>{1, 1023, 1048577}));
  EXPECT_TRUE(spec.dimensions[1].categorical);
  ASSERT_EQ(spec.parameters.size(), 2U);
  EXPECT_EQ(spec.find_parameter("ITEMS")->values.size(), 4U);
  EXPECT_EQ(spec.find_parameter("BLOCK")->help, "threads per block");
  ASSERT_NE(spec.find_preset("default"), nullptr);
  EXPECT_EQ(spec.find_preset("default")->display(), "BLOCK=256,ITEMS=4");
  ASSERT_EQ(spec.arguments.size(), 4U);
  EXPECT_TRUE(spec.arguments[0].pointer);
  EXPECT_EQ(spec.arguments[0].access, Argument::Access::out);
  EXPECT_FALSE(spec.arguments[1].dtype.has_value());
  EXPECT_EQ(spec.arguments[1].fill.kind, Fill::Kind::uniform);
  EXPECT_EQ(spec.arguments[1].fill.low, -1);
  EXPECT_EQ(spec.arguments[3].dtype, DType::i64);
  EXPECT_TRUE(spec.reference.instantiate_type);
  EXPECT_EQ(spec.tolerance.size(), 2U);
  EXPECT_EQ(spec.default_problem().display(), "n=16777216,dtype=f32");

  Device device = KernelSpec::generic_device();
  const Problem problem = spec.parse_shape("n=1000,dtype=f16");
  auto scope = spec.scope(problem, device);
  spec.bind(scope, *spec.find_preset("default"));
  EXPECT_EQ(spec.violated_constraint(scope), nullptr);
  EXPECT_EQ(spec.launches.front().grid[0].evaluate_integer(scope), 1);
  EXPECT_EQ(spec.work.bytes.evaluate_real(scope), 6000);
  spec.bind_tolerance(scope, problem);
  EXPECT_EQ(spec.tolerance.at(DType::f16).rel.evaluate_real(scope), 2 * 0x1p-11);
  EXPECT_TRUE(spec.check_presets(device).empty());
}

TEST(Spec, EveryKeyIsRead) {
  const KernelSpec spec = spec_of(kEverything);
  EXPECT_TRUE(spec.macros);
  EXPECT_EQ(spec.define, (std::vector<std::string>{"T", "k"}));
  EXPECT_EQ(spec.options.size(), 2U);
  EXPECT_TRUE(spec.find_parameter("ACC")->is_type);
  EXPECT_EQ(spec.find_preset("small")->display(), "TILE=8,PAD=false,ACC=f64,LAYOUT=column");  // in declared order
  EXPECT_TRUE(spec.reference.instantiate_type);
  Device device = KernelSpec::generic_device();
  device.compute_capability = 90;
  auto scope = spec.scope(spec.default_problem(), device);
  spec.bind(scope, spec.presets[0].second);
  EXPECT_EQ(spec.arch.evaluate(scope), Scalar::text("sm_90a"));
  EXPECT_EQ(spec.launches.front().shared_bytes.evaluate_integer(scope), 1024);
  EXPECT_EQ(spec.launches.front().static_shared_bytes.evaluate_integer(scope), 64);
  EXPECT_FALSE(spec.nondeterministic.evaluate_bool(scope));
  EXPECT_TRUE(spec.restore.evaluate_bool(scope));
  EXPECT_EQ(spec.arguments[1].fill.special, kSpecialNan | kSpecialNegativeZero | kSpecialMax);
  EXPECT_EQ(spec.arguments[2].fill.kind, Fill::Kind::zero);
  EXPECT_EQ(spec.arguments[5].value.evaluate_real(scope), 1.5);
  spec.bind_tolerance(scope, spec.default_problem());
  // scale: 3 (uniform_int of c) times |1| + 6 * 0.5 (normal of a); no factor are the special values, the sums
  // that start at zero, and the integer index.
  EXPECT_DOUBLE_EQ(spec.tolerance.at(DType::f32).abs.evaluate_real(scope), 2 * 8 * 0x1p-24 * 3 * 4);
}

TEST(Spec, ReferenceInstantiateFollowsTheKernel) {
  auto json = vector_add();
  EXPECT_TRUE(KernelSpec::parse(json, "f").reference.instantiate_type);
  EXPECT_FALSE(KernelSpec::parse(with(json, "/reference/instantiate", "[]"), "f").reference.instantiate_type);
  EXPECT_FALSE(KernelSpec::parse(with(json, "/instantiate", R"(["BLOCK", "ITEMS"])"), "f").reference.instantiate_type);
}

TEST(Spec, NormalisedFormRoundTrips) {
  const ordered_json choosing = spec_of(kEverything).to_json();
  EXPECT_EQ(choosing["presets"]["default"], everything()["presets"]["default"]);
  EXPECT_EQ(choosing["features"], everything()["features"]);
  EXPECT_FALSE(spec_of(kVectorAdd).to_json().contains("features"));
  for (const char* text : {kVectorAdd, kEverything}) {
    const ordered_json once = spec_of(text).to_json();
    const KernelSpec back = KernelSpec::parse(once, "book");
    EXPECT_EQ(back.to_json().dump(2), once.dump(2));
    EXPECT_EQ(back.verify_problems(back.default_problem()).size(), spec_of(text).verify_problems(back.default_problem()).size());
  }
}

struct Fault {
  const char* pointer;  // where a value is put into vector_add ...
  const char* value;
  const char* message;  // ... and the whole or the start of one line of the error
};

TEST(Spec, EachFaultIsNamedWithItsPath) {
  const std::vector<Fault> faults = {
      {"/tunebook", "2", "/tunebook: found 2, expected an integer from 1 to 1"},
      {"/constrains", "[]", "/constrains: found the unknown key \"constrains\", expected a kernel to have"},
      {"/launch/gird", "[]", "/launch/gird: found the unknown key \"gird\", expected a launch to have entry, instantiate, repeat, block, grid, shared_bytes, static_shared_bytes; did you mean \"grid\"?"},
      {"/kernel", "\"vector add\"", "/kernel: found \"vector add\", expected an identifier"},
      {"/summary", "3", "/summary: found 3, expected a string"},
      {"/source", "\"../x.cu\"", "/source: found \"../x.cu\", expected a file in the template's folder"},
      {"/source", "\"/etc/passwd\"", "/source: found \"/etc/passwd\", expected a file in the template's folder"},
      {"/entry", "\"a b\"", "/entry: found \"a b\", expected the name of a __global__ function"},
      {"/entry", "\"a::\"", "/entry: found \"a::\", expected the name of a __global__ function"},
      {"/instantiate", "\"macro\"", "/instantiate: found \"macro\", expected \"macros\" or an array"},
      {"/instantiate/1", "\"BLOK\"", "/instantiate/1: found \"BLOK\", expected one of T, n, dtype, BLOCK, ITEMS; did you mean \"BLOCK\"?"},
      {"/instantiate/1", "\"T\"", "/instantiate/1: found \"T\" a second time, expected each once"},
      {"/define", "[\"n\"]", "/define: found \"define\" without"},
      {"/define", "[\"BLOCK\"]", "/define/0: found \"BLOCK\", expected one of T, n, dtype"},
      {"/options", "[\"x\"]", "/options/0: found \"x\", expected an option that starts with -"},
      {"/options", "{}", "/options: found an object, expected an array of compile options"},
      {"/problem", "[]", "/problem: found an array, expected an object with the dimensions"},
      {"/problem/n/default", "0", "/problem/n/default: found 0, expected an integer from 1 to 68719476736"},
      {"/problem/n/default", "1000000000000", "/problem/n/default: found 1000000000000, expected an integer from 1 to 68719476736"},
      {"/problem/n/default", "18446744073709551615", "/problem/n/default: found 18446744073709551615, expected"},
      {"/problem/n/default", "1.5", "/problem/n/default: found 1.5, expected an integer"},
      {"/problem/n/verify/1", "-1", "/problem/n/verify/1: found -1, expected an integer from 1"},
      {"/problem/n/verify", "7", "/problem/n/verify: found 7, expected an array of sizes"},
      {"/problem/n/values", "[]", "/problem/n/values: found an empty array, expected at least one value"},
      {"/problem/dtype/values/1", "\"f31\"", "/problem/dtype/values/1: found \"f31\", expected a data type (f16"},
      {"/problem/dtype/values/1", "\"f32\"", "/problem/dtype/values/1: found \"f32\" a second time"},
      {"/problem/dtype/default", "\"f64\"", "/problem/dtype/default: found \"f64\", expected one of f32, f16"},
      {"/problem/dtype", "{\"default\": 1}", "/problem/dtype: found \"dtype\" as a size"},
      {"/problem/verify", "{\"default\": 1}", "/problem/verify: found an object, expected an array of whole problems"},
      {"/problem/verify", "[{\"n\": 0}]", "/problem/verify/0/n: found 0, expected an integer from 1"},
      {"/problem/verify", "[{}]", "/problem/verify/0: found no size for the dimension \"n\""},
      {"/problem/verify", "[{\"n\": 1, \"nn\": 2}]", "/problem/verify/0/nn: found the unknown dimension \"nn\", expected one of n, dtype"},
      {"/problem/verify", "[{\"n\": 1, \"dtype\": \"f64\"}]", "/problem/verify/0/dtype: found \"f64\", expected one of f32, f16"},
      {"/problem/a b", "{\"default\": 1}", "/problem/a b: found the dimension name \"a b\", expected an identifier"},
      {"/problem/T", "{\"default\": 1}", "/problem/T: found the dimension name \"T\", which has its own meaning"},
      {"/parameters/n", "{\"values\": [1]}", "/parameters/n: found the parameter name \"n\", which is a dimension of the problem"},
      {"/parameters/eps", "{\"values\": [1]}", "/parameters/eps: found the parameter name \"eps\", which has its own meaning"},
      {"/parameters/min", "{\"values\": [1]}", "/parameters/min: found the parameter name \"min\", which has its own meaning"},
      {"/parameters/a~1b", "{\"values\": [1]}", "/parameters/a~1b: found the parameter name \"a/b\", expected an identifier"},
      {"/parameters/BLOCK/values", "[]", "/parameters/BLOCK/values: found an empty array, expected at least one value"},
      {"/parameters/BLOCK/values", "64", "/parameters/BLOCK/values: found 64, expected an array of values"},
      {"/parameters/BLOCK/values/2", "\"x\"", "/parameters/BLOCK/values/2: found \"x\", expected an integer, as the parameter's first value"},
      {"/parameters/BLOCK/values/2", "true", "/parameters/BLOCK/values/2: found true, expected an integer"},
      {"/parameters/BLOCK/values/2", "64", "/parameters/BLOCK/values/2: found 64 a second time, expected each value once"},
      {"/parameters/BLOCK/values/2", "2.5", "/parameters/BLOCK/values/2: found 2.5, expected an integer of at most 64 bits, true, false or a string"},
      {"/parameters/BLOCK/values/2", "null", "/parameters/BLOCK/values/2: found null, expected"},
      {"/parameters/BLOCK/values/2", "\"a,b\"", "/parameters/BLOCK/values/2: found \"a,b\", expected a text without commas"},
      {"/parameters/BLOCK/type", "true", "/parameters/BLOCK/values/0: found 64, expected a data type"},
      {"/parameters/BLOCK/vals", "[]", "/parameters/BLOCK/vals: found the unknown key \"vals\", expected a parameter to have values, type, help; did you mean \"values\"?"},
      {"/constraints", "\"BLOCK > 1\"", "/constraints: found \"BLOCK > 1\", expected an array of expressions"},
      {"/constraints/0", "\"BLOCK * ITEM <= 4096\"", "/constraints/0: found \"BLOCK * ITEM <= 4096\", expected an expression: column 9: "},
      {"/constraints/0", "\"BLOCK <= \"", "/constraints/0: found \"BLOCK <= \", expected an expression: column "},
      {"/constraints/0", "\"eps < 1\"", "/constraints/0: found \"eps\" in \"eps < 1\", expected only n, dtype, BLOCK, ITEMS, T, device.kind"},
      {"/constraints/0", "\"BLOCK * 9223372036854775807 > 0\"", "/presets/default: /constraints/0 \"BLOCK * 9223372036854775807 > 0\" cannot be evaluated"},
      {"/constraints/0", "\"BLOCK < 256\"", "/presets/default: found BLOCK=256,ITEMS=4, which violates /constraints/0 \"BLOCK < 256\" on the problem n=16777216,dtype=f32"},
      {"/constraints/0", "\"n >= 2\"", "/presets/default: found BLOCK=256,ITEMS=4, which violates /constraints/0 \"n >= 2\" on the problem n=1,dtype=f32"},
      {"/constraints/0", "\"dtype == 'f32' or ITEMS == 8\"", "/presets/default: found BLOCK=256,ITEMS=4, which violates /constraints/0 \"dtype == 'f32' or ITEMS == 8\" on the problem n=16777216,dtype=f16"},
      {"/constraints/0", "null", "/constraints/0: found null, expected an expression"},
      {"/presets", "{}", "/presets: found no preset \"default\", expected it"},
      {"/presets/default/BLOCK", "100", "/presets/default/BLOCK: found 100, expected one of the declared values 64, 128, 256, 512"},
      {"/presets/default/BLOCK", "\"256\"", "/presets/default/BLOCK: found \"256\", expected one of the declared values"},
      {"/presets/default/BLOK", "256", "/presets/default/BLOK: found the unknown parameter \"BLOK\", expected one of BLOCK, ITEMS; did you mean \"BLOCK\"?"},
      {"/presets/fast", "{\"BLOCK\": 64}", "/presets/fast: found no value for the parameter \"ITEMS\", expected one"},
      {"/presets/fast", "[]", "/presets/fast: found an array, expected an object"},
      {"/presets/default", "[]", "/presets/default: found an empty array, expected at least one value"},
      {"/presets/default", "[7]", "/presets/default/0: found 7, expected an object with the keys when, preset"},
      {"/presets/default", "[{\"preset\": \"default\"}]", "/presets/default/0/preset: found \"default\", expected one of the other presets"},
      {"/presets", R"({"fast": {"BLOCK": 64, "ITEMS": 1}, "default": [{"preset": "fats"}]})",
       "/presets/default/0/preset: found \"fats\", expected one of the other presets fast; did you mean \"fast\"?"},
      {"/presets", R"({"fast": {"BLOCK": 64, "ITEMS": 1}, "default": [{"preset": "fast"}, {"preset": "fast"}]})",
       "/presets/default/0: found no \"when\", expected a condition: choices after this one would never count"},
      {"/presets", R"({"fast": {"BLOCK": 64, "ITEMS": 1}, "default": [{"when": "n > 1", "preset": "fast"}]})",
       "/presets/default/0: found a condition in the last choice, expected none"},
      {"/presets", R"({"fast": {"BLOCK": 64, "ITEMS": 1}, "default": [{"wen": "n > 1", "preset": "fast"}]})",
       "/presets/default/0/wen: found the unknown key \"wen\", expected a choice of the default to have when, preset; did you mean \"when\"?"},
      {"/presets", R"({"fast": {"BLOCK": 64, "ITEMS": 1}, "default": [{"when": "BLOCK > 1", "preset": "fast"}, {"preset": "fast"}]})",
       "/presets/default/0/when: found \"BLOCK\" in \"BLOCK > 1\", expected only n, dtype, T, device.kind"},
      {"/presets", R"({"fast": {"BLOCK": 64, "ITEMS": 1}, "default": [{"when": "n // 0 > 1", "preset": "fast"}, {"preset": "fast"}]})",
       "/presets/default/0/when: found \"n // 0 > 1\", expected true or false for the problem n=16777216,dtype=f32: column 3: "},
      {"/features", "[]", "/features: found an array, expected an object with named expressions"},
      {"/features", "{\"a b\": \"n\"}", "/features/a b: found the feature name \"a b\", expected an identifier"},
      {"/features", "{\"BLOCK\": \"n\"}", "/features/BLOCK: found the feature name \"BLOCK\", which has its own meaning"},
      {"/features", "{\"waste\": \"n / BLOK\"}", "/features/waste: found \"n / BLOK\", expected an expression: column 5: "},
      {"/features", "{\"waste\": \"n * eps\"}", "/features/waste: found \"eps\" in \"n * eps\", expected only n, dtype, BLOCK"},
      {"/features", "{\"waste\": null}", "/features/waste: found null, expected an expression"},
      {"/launch/block", "\"BLOCK\"", "/launch/block: found \"BLOCK\", expected an array of one to three expressions"},
      {"/launch/block", "[]", "/launch/block: found an array, expected an array of one to three expressions"},
      {"/launch/grid", "[1, 1, 1, 1]", "/launch/grid: found an array, expected an array of one to three expressions"},
      {"/launch/grid/0", "\"n // (BLOCK - 256)\"", "/launch/grid/0: found \"n // (BLOCK - 256)\", expected an integer of at least 1 for the default preset and problem n=16777216,dtype=f32: column 3: "},
      {"/launch/grid/0", "\"n - 16777216\"", "/launch/grid/0: found \"n - 16777216\" for the default preset and problem n=16777216,dtype=f32, expected an integer of at least 1"},
      {"/arguments", "{}", "/arguments: found an object, expected an array of arguments"},
      {"/arguments/0/access", "\"in\"", "/arguments: found no argument with access \"out\" or \"inout\""},
      {"/arguments/0/access", "\"write\"", "/arguments/0/access: found \"write\", expected \"in\", \"out\", \"inout\" or \"workspace\""},
      {"/arguments/0/fill", "\"iota(0, 1)\"", "/arguments/0/fill: found a fill for an output"},
      {"/arguments/0/type", "\"f33*\"", "/arguments/0/type: found \"f33*\", expected T or a data type"},
      {"/arguments/0/type", "\"const T*\"", "/arguments/0/type: found \"const T*\", expected T or a data type"},
      {"/arguments/0/type", "7", "/arguments/0/type: found 7, expected a type"},
      {"/arguments/0/count", "\"n * BLOCK\"", "/arguments/0/count: found \"BLOCK\" in \"n * BLOCK\", expected only n, dtype, T"},
      {"/arguments/0/count", "\"n - n\"", "/arguments/0/count: found \"n - n\" for the default preset and problem"},
      {"/arguments/1/name", "\"c\"", "/arguments/1/name: found \"c\" a second time"},
      {"/arguments/1/fill", "\"constant(1, 2)\"", "/arguments/1/fill: found \"constant(1, 2)\", expected uniform(low, high), uniform_int(low, high), normal"},
      {"/arguments/1/fill", "\"unifrom(0, 1)\"", "/arguments/1/fill: found \"unifrom(0, 1)\", expected uniform(low, high), uniform_int(low, high), normal(mean, deviation) or iota(start, step); did you mean \"uniform\"?"},
      {"/arguments/1/fill", "\"zero\"", "/arguments/1/fill: found \"zero\", expected uniform(low, high), uniform_int(low, high), normal(mean, deviation) or iota(start, step); only an inout argument, which the kernel adds to, may be zero"},
      {"/arguments/1/fill", "\"uniform(0, 0)\"", "/arguments/1/fill: found \"uniform(0, 0)\", expected uniform(low, high) with low < high"},
      {"/arguments/1/fill", "\"uniform_int(2, 2)\"", "/arguments/1/fill: found \"uniform_int(2, 2)\", expected uniform_int(low, high) with integers low < high"},
      {"/arguments/1/fill", "\"uniform(1, 1.00000001)\"", "/arguments/1/fill: found \"uniform(1, 1.00000001)\", expected numbers that differ as f32, where these are (almost) all 1"},
      {"/arguments/1/fill", "\"normal(1000, 0.1)\"", "/arguments/1/fill: found \"normal(1000, 0.1)\", expected numbers that differ as f16, where these are (almost) all 1000"},
      {"/arguments/1/fill", "\"uniform(1e-60, 2e-60)\"", "/arguments/1/fill: found \"uniform(1e-60, 2e-60)\", expected numbers that differ as f32, where these are (almost) all 0"},
      {"/arguments/1/fill", "\"uniform(-1e5, 1e5)\"", "/arguments/1/fill: found \"uniform(-1e5, 1e5)\", expected numbers that are finite as f16"},
      {"/arguments/1/special", "\"nan\"", "/arguments/1/special: found \"nan\", expected an array of nan, inf, -inf, -0, max, min_denormal"},
      {"/arguments/1/special", "[\"inf\", \"nann\"]", "/arguments/1/special/1: found \"nann\", expected one of nan, inf, -inf, -0, max, min_denormal; did you mean \"nan\"?"},
      {"/arguments/1/special", "[\"denormal\"]", "/arguments/1/special/0: found \"denormal\", expected one of nan, inf"},
      {"/arguments/1/special", "[\"nan\", \"nan\"]", "/arguments/1/special/1: found \"nan\" a second time, expected each once"},
      {"/arguments/1/special", "[0]", "/arguments/1/special/0: found 0, expected a string"},
      {"/arguments/1", "{\"name\": \"a\", \"type\": \"i32*\", \"count\": \"n\", \"access\": \"in\", \"fill\": \"uniform_int(0, 9)\", \"special\": [\"max\"]}",
       "/arguments/1/special: found special values for elements of type i32, expected them for floating types only"},
      {"/arguments/1", "{\"name\": \"a\", \"type\": \"u8*\", \"count\": \"n\", \"access\": \"in\", \"fill\": \"uniform_int(-9, -1)\"}",
       "/arguments/1/fill: found \"uniform_int(-9, -1)\", expected numbers that differ as u8, where these are (almost) all 0"},
      {"/arguments/1", "{\"name\": \"a\", \"type\": \"bool*\", \"count\": \"n\", \"access\": \"inout\", \"fill\": \"uniform_int(1, 2)\"}",
       "/arguments/1/fill: found \"uniform_int(1, 2)\", expected numbers that differ as bool, where these are (almost) all 1"},
      {"/arguments/1", "{\"name\": \"a\", \"type\": \"T*\", \"count\": \"n\", \"access\": \"inout\", \"fill\": \"zeros\"}",
       "/arguments/1/fill: found \"zeros\", expected uniform(low, high), uniform_int(low, high), normal(mean, deviation) or iota(start, step), or zero where the kernel adds to what is there; did you mean \"zero\"?"},
      {"/arguments/1", "{\"name\": \"a\", \"type\": \"T*\", \"count\": \"n\", \"access\": \"inout\", \"fill\": \"zero\", \"special\": [\"inf\"]}",
       "/arguments/1/special: found special values beside the fill zero, expected another fill"},
      {"/arguments/0/special", "[\"nan\"]", "/arguments/0/special: found a special for an output, expected none"},
      {"/restore", "\"BLOK == 64\"", "/restore: found \"BLOK == 64\", expected an expression: column 1: "},
      {"/nondeterministic", "\"eps > 0\"", "/nondeterministic: found \"eps\" in \"eps > 0\", expected only n, dtype, BLOCK"},
      {"/nondeterministic", "\"BLOCK // (BLOCK - 256) == 1\"", "/nondeterministic: found \"BLOCK // (BLOCK - 256) == 1\", expected true or false for the default preset"},
      {"/arguments/1/fill", "\"uniform(1, 1)\"", "/arguments/1/fill: found \"uniform(1, 1)\", expected uniform(low, high) with low < high"},
      {"/arguments/1/fill", "\"uniform(1)\"", "/arguments/1/fill: found \"uniform(1)\", expected uniform(low, high), "},
      {"/arguments/1/fill", "\"uniform(nan, 1)\"", "/arguments/1/fill: found \"uniform(nan, 1)\", expected uniform(low, high), "},
      {"/arguments/1/fill", "\"normal(0, 0)\"", "/arguments/1/fill: found \"normal(0, 0)\", expected normal(mean, deviation) with a deviation above 0"},
      {"/arguments/1/fill", "\"iota(1, 0)\"", "/arguments/1/fill: found \"iota(1, 0)\", expected iota(start, step) with a step"},
      {"/arguments/1/fill", "\"uniform_int(0, 1.5)\"", "/arguments/1/fill: found \"uniform_int(0, 1.5)\", expected uniform_int(low, high) with integers"},
      {"/arguments/3/count", "\"n\"", "/arguments/3/count: found the unknown key \"count\", expected a scalar argument to have name, type, value"},
      {"/arguments/3/value", "\"0.5\"", "/arguments/3/value: found \"0.5\", expected an expression"},
      {"/reference/source", "3", "/reference/source: found 3, expected a file name"},
      {"/reference/instantiate", "[\"BLOCK\"]", "/reference/instantiate: found an array, expected [] or [\"T\"]"},
      {"/reference/grid/0", "\"n * BLOCK\"", "/reference/grid/0: found \"BLOCK\" in \"n * BLOCK\", expected only n, dtype, T"},
      {"/tolerance/f64", "{\"rel\": 0, \"abs\": 0}", "/tolerance/f64: found a tolerance for \"f64\", expected one of the kernel's data types f32, f16"},
      {"/tolerance", "{}", "/tolerance: found no tolerance for f32, expected one"},
      {"/tolerance/f32", "1", "/tolerance/f32: found 1, expected an object with the keys rel, abs"},
      {"/tolerance/f32/rel", "\"2 * epsilon\"", "/tolerance/f32/rel: found \"2 * epsilon\", expected an expression: column 5: "},
      {"/tolerance/f32/rel", "\"0 - eps\"", "/tolerance/f32/rel: found \"0 - eps\" for the default preset and problem"},
      {"/work/flop", "1", "/work/flop: found the unknown key \"flop\", expected work to have flops, bytes; did you mean \"flops\"?"},
      {"/work/bytes", "[]", "/work/bytes: found an array, expected an expression"},
      {"/arch", "\"90\"", "/arch: found \"90\" for the default preset and problem"},
      {"/cpu", "\"native\"", "/cpu: found \"native\" in \"native\", expected only n, dtype"},
  };
  for (const Fault& fault : faults) {
    const std::string message = error_of(with(vector_add(), fault.pointer, fault.value));
    expect_contains("\n" + message, "\nkernel.json: " + std::string(fault.message));
  }
}

TEST(Spec, MissingKeysAreNamed) {
  for (const SpecKey& key : spec_object("kernel").keys) {
    const std::string message = error_of(without(vector_add(), "", std::string(key.name).c_str()));
    const std::string expected = "kernel.json: /: found no key \"" + std::string(key.name) + "\", expected a kernel to have it";
    if (key.required) {
      expect_contains(message, expected);
    } else if (key.name != "tolerance") {
      EXPECT_EQ(message, "") << key.name;
    }
  }
  expect_contains(error_of(without(vector_add(), "/problem/n", "default")), "/problem/n: found no key \"default\", expected a size to have it");
  expect_contains(error_of(without(vector_add(), "/parameters/BLOCK", "values")), "/parameters/BLOCK: found no key \"values\", expected a parameter to have it");
  expect_contains(error_of(without(vector_add(), "/arguments/0", "count")), "/arguments/0: found no key \"count\", expected a pointer argument to have it");
  expect_contains(error_of(without(vector_add(), "/arguments/0", "type")), "/arguments/0: found no key \"type\", expected a pointer argument to have it");
  expect_contains(error_of(without(vector_add(), "/arguments/1", "fill")), "/arguments/1: found no key \"fill\", expected an input to have it: uniform(low, high)");
  expect_contains(error_of(without(vector_add(), "/presets/default", "ITEMS")), "/presets/default: found no value for the parameter \"ITEMS\"");
  expect_contains(error_of(without(vector_add(), "/tolerance", "f16")), "/tolerance: found no tolerance for f16");
  expect_contains(error_of(without(vector_add(), "/tolerance/f16", "abs")), "/tolerance/f16: found no key \"abs\"");
  expect_contains(error_of(ordered_json::array()), "kernel.json: /: found an array, expected an object with the keys tunebook, kernel,");
}

TEST(Spec, AllErrorsAreReportedAtOnce) {
  auto json = with(vector_add(), "/constraints/0", "\"BLOK > 1\"");
  json = with(json, "/parameters/ITEMS/values", "[]");
  json = with(json, "/launch/gird", "[]");
  json = with(json, "/arguments/2/fill", "\"constant\"");
  json = with(json, "/presets/default/BLOCK", "1");
  const std::string message = error_of(without(json, "", "reference"));
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 5) << message;
  for (const char* path : {"/: found no key \"reference\"", "/constraints/0: ", "/parameters/ITEMS/values: ", "/launch/gird: ", "/arguments/2/fill: ", "/presets/default/BLOCK: "}) {
    expect_contains(message, std::string("kernel.json: ") + path);
  }
  expect_contains(message, "did you mean 'BLOCK'");
}

TEST(Spec, ScaleNeedsInputsWithALargestValue) {
  auto json = with(vector_add(), "/tolerance/f32/abs", "\"eps * scale\"");
  EXPECT_EQ(error_of(json), "");
  expect_contains(error_of(with(json, "/arguments/1/fill", "\"iota(0, 1)\"")), "/tolerance/f32/abs: found \"scale\", expected a bound without it: the input \"a\"");
}

TEST(Spec, FillsOfIntegerTypesMustNotTruncateToOneValue) {
  auto json = with(vector_add(), "/arguments/1/type", "\"i32*\"");
  expect_contains(error_of(json), "/arguments/1/fill: found \"uniform(-1, 1)\"");
  EXPECT_EQ(error_of(with(json, "/arguments/1/fill", "\"uniform_int(-1, 1)\"")), "");
  EXPECT_EQ(error_of(with(json, "/arguments/1/fill", "\"uniform(-100, 100)\"")), "");
}

TEST(Spec, PresetsAreCheckedOnRandomShapesAndOtherPresetsOnSomeProblem) {
  // Holds on the default and verify problems, not on every shape.
  auto json = with(vector_add(), "/constraints/0", "\"n % 2 == 1 or n == 16777216\"");
  const KernelSpec odd = KernelSpec::parse(json, "kernel.json");
  const auto messages = odd.check_default_on_random_shapes(KernelSpec::generic_device());
  EXPECT_TRUE(odd.check_presets(KernelSpec::generic_device()).empty());
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages.size(), 1U);  // once, however many shapes show it
  expect_contains(messages[0], "/presets/default: found BLOCK=256,ITEMS=4, which violates /constraints/0");
  EXPECT_EQ(messages, odd.check_default_on_random_shapes(KernelSpec::generic_device()));

  json = with(with(vector_add(), "/presets/large", R"({"BLOCK": 512, "ITEMS": 8})"), "/constraints/0", "\"BLOCK * ITEMS <= 1024\"");
  const auto others = KernelSpec::parse(json, "kernel.json").check_presets(KernelSpec::generic_device());
  ASSERT_EQ(others.size(), 1U);
  expect_contains(others[0], "/presets/large: found BLOCK=512,ITEMS=8, which violates /constraints/0 \"BLOCK * ITEMS <= 1024\"");

  // A rung for one data type, or for few elements, is a rung.
  for (const char* constraint : {"\"BLOCK * ITEMS <= 1024 or sizeof(T) == 2\"", "\"BLOCK * ITEMS <= 1024 or n == 1\""}) {
    const KernelSpec some = KernelSpec::parse(with(json, "/constraints/0", constraint), "kernel.json");
    EXPECT_TRUE(some.check_presets(KernelSpec::generic_device()).empty()) << constraint;
  }

  // The device at hand decides, too.
  const KernelSpec spec = KernelSpec::parse(with(vector_add(), "/constraints/0", "\"BLOCK <= device.max_threads_per_block\""), "kernel.json");
  Device small = KernelSpec::generic_device();
  small.limits.max_threads_per_block = 128;
  EXPECT_TRUE(spec.check_presets(KernelSpec::generic_device()).empty());
  EXPECT_FALSE(spec.check_presets(small).empty());
}

TEST(Spec, DeviceNamesHaveTheDevicesValues) {
  auto json = with(vector_add(), "/constraints/0", "\"device.kind == 'cuda' or device.kind == 'cpu'\"");
  json["constraints"].push_back("device.shared_bytes + device.shared_bytes_per_sm + device.registers_per_block + device.registers_per_sm + "
                                "device.max_threads_per_sm + device.max_blocks_per_sm + device.memory_gib + device.warp_size + device.l2_bytes + device.sm_count + device.compute_capability > 0");
  json["constraints"].push_back("device.name in ['generic', 'other']");
  const KernelSpec spec = KernelSpec::parse(json, "f");
  Device device = KernelSpec::generic_device();
  EXPECT_TRUE(spec.check_presets(device).empty());
  const auto scope = spec.scope(spec.default_problem(), device);
  const auto value = [&](const char* name) { return scope.at(static_cast<std::size_t>(*spec.names.find(name))); };
  EXPECT_EQ(value("device.shared_bytes"), Scalar::integer(device.limits.shared_bytes_per_block_optin));
  EXPECT_EQ(value("device.l2_bytes"), Scalar::integer(device.limits.l2_bytes));
  EXPECT_EQ(value("device.max_blocks_per_sm"), Scalar::integer(16));
  EXPECT_EQ(value("device.memory_gib"), Scalar::integer(16));
  EXPECT_EQ(value("device.compute_capability"), Scalar::integer(80));
  EXPECT_EQ(value("T"), Scalar::text("f32"));
  EXPECT_EQ(value("native"), Scalar::text("native"));
  EXPECT_EQ(value("BLOCK").kind, Scalar::Kind::unset);
  EXPECT_EQ(value("eps").kind, Scalar::Kind::unset);
}

std::vector<std::string> shown(const std::vector<Problem>& problems) {
  std::vector<std::string> out;
  for (const Problem& problem : problems) out.push_back(problem.display());
  return out;
}

TEST(Spec, VerifyProblemsCombinePositionByPosition) {
  const KernelSpec spec = spec_of(kEverything);
  const Problem tuned = spec.parse_shape("64,32,16");
  // First the whole problems of this data type, then the lists: n repeats its last, k has none.
  EXPECT_EQ(shown(spec.verify_problems(tuned)),
            (std::vector<std::string>{"m=3,n=4,k=5,dtype=f32,math=exact", "m=1,n=5,k=16,dtype=f32,math=exact", "m=17,n=5,k=16,dtype=f32,math=exact",
                                      "m=100,n=5,k=16,dtype=f32,math=exact"}));
  EXPECT_EQ(shown(spec.verify_problems(spec.parse_shape("17,5,16,i32,fast"))),
            (std::vector<std::string>{"m=3,n=4,k=5,dtype=i32,math=fast", "m=7,n=7,k=7,dtype=i32,math=fast", "m=1,n=5,k=16,dtype=i32,math=fast",
                                      "m=100,n=5,k=16,dtype=i32,math=fast"}));  // the tuned one itself is left out
  auto json = with(vector_add(), "/problem/n/verify", "[7, 7, 1]");
  EXPECT_EQ(shown(KernelSpec::parse(json, "f").verify_problems(spec_of(kVectorAdd).default_problem())), (std::vector<std::string>{"n=7,dtype=f32", "n=1,dtype=f32"}));
}

TEST(Spec, FailingConstraintsAreNamed) {
  const KernelSpec spec = KernelSpec::parse(with(vector_add(), "/constraints/0", "\"1000 // (512 - BLOCK) > 0\""), "f");
  auto scope = spec.scope(spec.default_problem(), KernelSpec::generic_device());
  spec.bind(scope, spec.parse_configuration("BLOCK=64,ITEMS=1"));
  EXPECT_EQ(spec.violated_constraint(scope), nullptr);
  spec.bind(scope, spec.parse_configuration("BLOCK=512,ITEMS=1"));
  try {
    spec.violated_constraint(scope);
    FAIL();
  } catch (const InputError& error) {
    expect_contains(error.what(), "kernel vector_add: constraint \"1000 // (512 - BLOCK) > 0\", column 6: ");
  }
  const KernelSpec plain = spec_of(kVectorAdd);
  auto wrong = plain.scope(plain.default_problem(), KernelSpec::generic_device());
  Configuration large;
  large.set("BLOCK", std::int64_t{1024});
  large.set("ITEMS", std::int64_t{8});
  plain.bind(wrong, large);
  ASSERT_NE(plain.violated_constraint(wrong), nullptr);
  EXPECT_EQ(plain.violated_constraint(wrong)->text(), "BLOCK * ITEMS <= 4096");
}

// Every key that parse() knows is in the schema and the other way round, with the same ones required.
TEST(Schema, KeysAgreeWithTheParser) {
  const ordered_json schema = parse_json_text(read_text_file(TUNEBOOK_SOURCE_DIR "/tuner/core/kernel.schema.json"), "kernel.schema.json");
  std::set<std::string> in_schema;
  for (const SpecObject& object : spec_objects()) {
    const std::string name(object.name);
    ASSERT_TRUE(name == "kernel" || schema["$defs"].contains(name)) << name;
    const ordered_json& described = name == "kernel" ? schema : schema["$defs"][name];
    std::set<std::string> keys, required, schema_keys, schema_required;
    for (const SpecKey& key : object.keys) {
      keys.insert(std::string(key.name));
      if (key.required) required.insert(std::string(key.name));
    }
    for (const auto& [key, value] : described["properties"].items()) schema_keys.insert(key);
    for (const auto& key : described.value("required", ordered_json::array())) schema_required.insert(key.get<std::string>());
    EXPECT_EQ(keys, schema_keys) << name;
    EXPECT_EQ(required, schema_required) << name;
    EXPECT_EQ(described["additionalProperties"], false) << name;
  }
  for (const auto& [name, described] : schema["$defs"].items()) {
    if (!described.contains("properties")) continue;
    const auto known = [&, key = name](const SpecObject& object) { return object.name == key; };
    EXPECT_TRUE(std::any_of(spec_objects().begin(), spec_objects().end(), known)) << name;
  }
}

// Random mutations of good specs: parse() accepts or throws InputError, and what it accepts round-trips.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  void mutate(ordered_json& json) {
    std::vector<ordered_json*> all;
    collect(json, all);
    ordered_json& chosen = *all[random_.below(all.size())];
    switch (random_.below(5)) {
      case 0: chosen = value(); break;
      case 1: chosen = *all[random_.below(all.size())]; break;
      case 2:
        if (chosen.is_object() && !chosen.empty()) chosen.erase(std::next(chosen.begin(), static_cast<std::ptrdiff_t>(random_.below(chosen.size()))));
        else if (chosen.is_array() && !chosen.empty()) chosen.erase(random_.below(chosen.size()));
        else chosen = value();
        break;
      case 3:
        if (chosen.is_object()) chosen[word()] = value();
        else if (chosen.is_array()) chosen.push_back(value());
        else chosen = word();
        break;
      default:
        if (chosen.is_string()) {
          auto text = chosen.get<std::string>();
          if (!text.empty()) text[random_.below(text.size())] = static_cast<char>(32 + random_.below(95));
          chosen = text;
        } else {
          chosen = value();
        }
    }
  }

 private:
  static void collect(ordered_json& json, std::vector<ordered_json*>& all) {
    all.push_back(&json);
    if (json.is_structured()) for (auto& child : json) collect(child, all);
  }
  ordered_json value() {
    static const char* const kValues[] = {"null", "true", "0", "-1", "1", "64", "9223372036854775807", "18446744073709551615", "1e300", "0.5", "\"\"", "[]", "{}",
                                          "\"T\"", "\"T*\"", "[[]]", "{\"\": {}}", "\"n\"", "\"f64\"", "\"uniform(0, 1)\"", "\"zero\"", "[\"nan\", \"-0\"]", "\"min_denormal\"", "\"uniform(1e-320, 1e308)\"", "\"uniform_int(-9e15, 9e15)\"", "[1, 2]", "\"1 // 0\"", "\"\\u0000\"", "\"((((\""};
    return ordered_json::parse(kValues[random_.below(std::size(kValues))]);
  }
  std::string word() {
    static const char* const kWords[] = {"n", "T", "BLOCK", "default", "verify", "values", "", "a/b~c", "eps", "scale", "device.kind", "fill", "special", "when", "preset", "usual", "features", "restore", "nondeterministic", "dtype", "\xc3\xa4"};
    return kWords[random_.below(std::size(kWords))];
  }
  Random random_;
};

TEST(Spec, MutationsGiveInputErrorsOnly) {
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    ordered_json json = seed % 2 == 0 ? vector_add() : everything();
    Mutator mutator(seed);
    for (std::uint64_t i = 0; i <= seed % 4; ++i) mutator.mutate(json);
    try {
      const KernelSpec spec = KernelSpec::parse(json, "kernel.json");
      ++accepted;
      const ordered_json normalised = spec.to_json();
      EXPECT_EQ(KernelSpec::parse(normalised, "again").to_json(), normalised) << json.dump();
      if (seed % 8 == 0) spec.check_presets(KernelSpec::generic_device());
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, 14), "kernel.json: /") << json.dump();
    } catch (const std::exception& error) {
      FAIL() << "seed " << seed << ": " << error.what() << "\n" << json.dump();
    }
  }
  EXPECT_GT(accepted, 10);
}

}  // namespace
}  // namespace tunebook
