// The space of matmul, mostly at 1024 cubed, by arithmetic alone: nothing is compiled.
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/launch_plan.h"
#include "core/template_folder.h"
#include "db/lookup_limits.h"
#include "search/space.h"

namespace tunebook::test {
namespace {

Device device_of(int compute_capability) {
  Device device = KernelSpec::generic_device();
  device.compute_capability = compute_capability;
  device.limits = limits_of_compute_capability(compute_capability);
  return device;
}

std::int64_t integer(const NamedValues& values, const std::string& name) { return std::get<std::int64_t>(values.at(name)); }

std::string path(const Configuration& configuration) { return std::get<std::string>(configuration.at("PATH")); }

// No size is a multiple of what a block covers, unless that is one row: every edge is met.
bool ragged(const Problem& problem, const Configuration& configuration) {
  const bool turned = path(configuration) == "few_columns";  // there BM covers columns
  const auto edge = [&](const char* size, const char* tile) {
    return integer(configuration, tile) == 1 || integer(problem, size) % integer(configuration, tile) != 0;
  };
  return edge(turned ? "n" : "m", "BM") && edge(turned ? "m" : "n", "BN") && edge("k", "BK");
}

// Shapes that between them have every path.
constexpr const char* kShapes[] = {"1024,1024,1024", "4096,4096,4096", "1,4096,4096", "4096,3,4096", "16,4096,4096", "256,256,16384", "1022,1022,1022", "1023,1022,1021"};

// One data type.
class MatmulSpace : public testing::TestWithParam<std::string> {
 protected:
  Problem problem() const { return spec_.parse_shape("1024,1024,1024,dtype=" + GetParam()); }
  SearchSpace space(const Device& device) const { return space(device, problem()); }
  SearchSpace space(const Device& device, const Problem& tuned) const { return SearchSpace::build(space_definition(spec_, tuned, device)); }

  // Whether the kernel may be launched for the problem.
  bool applicable(const Problem& verified, const Configuration& configuration, const Device& device) const {
    KernelSpec::Scope scope = spec_.scope(verified, device);
    spec_.bind(scope, configuration);
    if (spec_.violated_constraint(scope) != nullptr) return false;
    for (const PlannedLaunch& launch : plan_launches(spec_, verified, configuration, scope).launches) {
      if (!launch_limit_violated(launch.shape, 0, device.limits).empty()) return false;
    }
    return true;
  }

  const KernelSpec spec_ = load_template(TUNEBOOK_SOURCE_DIR "/templates/matmul").spec;
};

TEST_P(MatmulSpace, IsLargeEnoughToSearchAndSmallEnoughToExhaust) {
  const std::uint64_t size = space(device_of(90)).size();
  EXPECT_GE(size, 500u);
  EXPECT_LE(size, 4000u);
}

// One that does not fit the device is never launched there, so it needs no verification: see the next test.
TEST_P(MatmulSpace, EveryConfigurationThatFitsIsVerifiedOnARaggedProblem) {
  for (const int compute_capability : {80, 90, 120}) {
    const Device device = device_of(compute_capability);
    for (const char* shape : kShapes) {
      SCOPED_TRACE(std::string(shape) + " on sm_" + std::to_string(compute_capability));
      const Problem tuned = spec_.parse_shape(std::string(shape) + ",dtype=" + GetParam());
      const std::vector<Problem> verify = spec_.verify_problems(tuned);
      ASSERT_FALSE(verify.empty());
      const SearchSpace configurations = space(device, tuned);
      int without = 0;
      for (std::uint64_t i = 0; i < configurations.size(); ++i) {
        const Configuration configuration = configurations.configuration(i);
        bool found = !applicable(tuned, configuration, device);
        for (const Problem& verified : verify) found = found || (ragged(verified, configuration) && applicable(verified, configuration, device));
        if (found) continue;
        if (++without <= 3) ADD_FAILURE() << configuration.display();
      }
      EXPECT_EQ(without, 0);
    }
  }
}

// The constraints of the tiled path know no device. Where a block has 99 KiB of shared memory (8.6, 8.9, 12.0), the largest pairs of f64 tiles are too much.
TEST_P(MatmulSpace, FitsTheDevice) {
  for (const int compute_capability : {80, 90, 120}) {
    const Device device = device_of(compute_capability);
    const SearchSpace configurations = space(device);
    std::uint64_t too_large = 0;
    for (std::uint64_t i = 0; i < configurations.size(); ++i) {
      const Configuration configuration = configurations.configuration(i);
      if (applicable(problem(), configuration, device)) continue;
      ++too_large;
      EXPECT_EQ(path(configuration), "tiled") << configuration.display();
      EXPECT_EQ(integer(configuration, "STAGES"), 2) << configuration.display();
    }
    if (compute_capability == 120 && GetParam() == "f64") {
      EXPECT_LE(too_large, configurations.size() / 20);
    } else {
      EXPECT_EQ(too_large, 0u) << "sm_" << compute_capability;
    }
  }
}

TEST_P(MatmulSpace, HasTheTextbookLadder) {
  for (const int compute_capability : {80, 90, 120}) {
    const Device device = device_of(compute_capability);
    const SearchSpace configurations = space(device);
    for (const char* name : {"naive", "tiled", "tiled_padded", "vectorized", "register_tiled", "double_buffered", "default"}) {
      const Configuration* preset = spec_.find_preset(name);
      ASSERT_NE(preset, nullptr) << name;
      EXPECT_TRUE(configurations.find(*preset).has_value()) << name;
      EXPECT_TRUE(applicable(problem(), *preset, device)) << name << " on sm_" << compute_capability;
    }
    const std::vector<std::string> off_the_space = spec_.check_presets(device);
    EXPECT_EQ(off_the_space.size(), compute_capability == 90 ? 0u : 1u) << compute_capability;  // only sm_90a has warpgroup products
    for (const std::string& fault : off_the_space) EXPECT_EQ(fault.find("/presets/warpgroups: "), 0u) << fault;
    EXPECT_EQ(spec_.check_default_on_random_shapes(device), std::vector<std::string>());
  }
}

// Without shared memory the kernel reads BM, BN and UNROLL only: the others must not multiply the space.
TEST_P(MatmulSpace, ParametersThatAPathIgnoresAreFixed) {
  const SearchSpace configurations = space(device_of(90));
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> kernels;
  for (std::uint64_t i = 0; i < configurations.size(); ++i) {
    const Configuration configuration = configurations.configuration(i);
    if (path(configuration) != "naive") continue;
    EXPECT_TRUE(kernels.emplace(integer(configuration, "BM"), integer(configuration, "BN"), integer(configuration, "UNROLL")).second)
        << configuration.display();
  }
  EXPECT_FALSE(kernels.empty());
}

TEST_P(MatmulSpace, OfManyRowsAndColumnsHasNoPathForFew) {
  const SearchSpace configurations = space(device_of(90));
  for (std::uint64_t i = 0; i < configurations.size(); ++i) {
    const Configuration configuration = configurations.configuration(i);
    EXPECT_TRUE(path(configuration) != "few_rows" && path(configuration) != "few_columns") << configuration.display();
  }
}

// Each for some shape and data type.
TEST(MatmulValues, EveryDeclaredValueOccurs) {
  const KernelSpec spec = load_template(TUNEBOOK_SOURCE_DIR "/templates/matmul").spec;
  std::set<std::pair<std::string, std::string>> used;
  for (const char* type : {"f32", "f16"}) {
    for (const char* shape : kShapes) {
      const Problem problem = spec.parse_shape(std::string(shape) + ",dtype=" + type);
      const SearchSpace configurations = SearchSpace::build(space_definition(spec, problem, device_of(90)));
      for (std::uint64_t i = 0; i < configurations.size(); ++i) {
        const Configuration configuration = configurations.configuration(i);
        for (const Parameter& parameter : spec.parameters) used.emplace(parameter.name, to_text(configuration.at(parameter.name)));
      }
    }
  }
  for (const Parameter& parameter : spec.parameters) {
    for (const Value& value : parameter.values) {
      EXPECT_TRUE(used.contains({parameter.name, to_text(value)})) << parameter.name << " = " << to_text(value);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DataTypes, MatmulSpace, testing::Values("f32", "f16", "bf16", "f64"),
                         [](const testing::TestParamInfo<std::string>& data_type) { return data_type.param; });

}  // namespace
}  // namespace tunebook::test
