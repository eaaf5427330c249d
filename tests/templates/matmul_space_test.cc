// The space of matmul at 1024 cubed, by arithmetic alone: nothing is compiled.
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
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

// No size is a multiple of what a block covers: every edge is met.
bool ragged(const Problem& problem, const Configuration& configuration) {
  return integer(problem, "m") % integer(configuration, "BM") != 0 && integer(problem, "n") % integer(configuration, "BN") != 0 &&
         integer(problem, "k") % integer(configuration, "BK") != 0;
}

// One data type.
class MatmulSpace : public testing::TestWithParam<std::string> {
 protected:
  Problem problem() const { return spec_.parse_shape("1024,1024,1024,dtype=" + GetParam()); }
  SearchSpace space(const Device& device) const { return SearchSpace::build(space_definition(spec_, problem(), device)); }

  // Whether the kernel may be launched for the problem.
  bool applicable(const Problem& verified, const Configuration& configuration, const Device& device) const {
    KernelSpec::Scope scope = spec_.scope(verified, device);
    spec_.bind(scope, configuration);
    return spec_.violated_constraint(scope) == nullptr &&
           launch_limit_violated(evaluate_launch(spec_.launch, scope, spec_.name), 0, device.limits).empty();
  }

  const KernelSpec spec_ = load_template(TUNEBOOK_SOURCE_DIR "/templates/matmul").spec;
};

TEST_P(MatmulSpace, IsLargeEnoughToSearchAndSmallEnoughToExhaust) {
  const std::uint64_t size = space(device_of(90)).size();
  EXPECT_GE(size, 500u);
  EXPECT_LE(size, 3000u);
}

// One that does not fit the device is never launched there, so it needs no verification: see the next test.
TEST_P(MatmulSpace, EveryConfigurationThatFitsIsVerifiedOnARaggedProblem) {
  const std::vector<Problem> verify = spec_.verify_problems(problem());
  ASSERT_FALSE(verify.empty());
  for (const int compute_capability : {80, 90, 120}) {
    const Device device = device_of(compute_capability);
    const SearchSpace configurations = space(device);
    int without = 0;
    for (std::uint64_t i = 0; i < configurations.size(); ++i) {
      const Configuration configuration = configurations.configuration(i);
      bool found = !applicable(problem(), configuration, device);
      for (const Problem& verified : verify) found = found || (ragged(verified, configuration) && applicable(verified, configuration, device));
      if (found) continue;
      if (++without <= 3) ADD_FAILURE() << "sm_" << compute_capability << ": " << configuration.display();
    }
    EXPECT_EQ(without, 0) << "sm_" << compute_capability;
  }
}

// The constraints know no device. Where a block has 99 KiB of shared memory (8.6, 8.9, 12.0), the largest pairs of f64 tiles are too much.
TEST_P(MatmulSpace, FitsTheDevice) {
  for (const int compute_capability : {80, 90, 120}) {
    const Device device = device_of(compute_capability);
    const SearchSpace configurations = space(device);
    std::uint64_t too_large = 0;
    for (std::uint64_t i = 0; i < configurations.size(); ++i) {
      const Configuration configuration = configurations.configuration(i);
      if (applicable(problem(), configuration, device)) continue;
      ++too_large;
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
    EXPECT_EQ(spec_.check_presets(device), std::vector<std::string>());
    EXPECT_EQ(spec_.check_default_on_random_shapes(device), std::vector<std::string>());
  }
}

TEST_P(MatmulSpace, EveryDeclaredValueOccurs) {
  const Device device = device_of(90);
  for (const auto& [name, values] : explain(space(device)).unused_values) {
    EXPECT_TRUE(values.empty()) << name << " has " << values.size() << " values that never occur";
  }
}

// Without shared memory the kernel reads BM, BN and UNROLL only: the others must not multiply the space.
TEST_P(MatmulSpace, ParametersThatABranchIgnoresAreFixed) {
  const SearchSpace configurations = space(device_of(90));
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> kernels;
  for (std::uint64_t i = 0; i < configurations.size(); ++i) {
    const Configuration configuration = configurations.configuration(i);
    if (integer(configuration, "SHARED") != 0) continue;
    EXPECT_TRUE(kernels.emplace(integer(configuration, "BM"), integer(configuration, "BN"), integer(configuration, "UNROLL")).second)
        << configuration.display();
  }
  EXPECT_FALSE(kernels.empty());
}

TEST_P(MatmulSpace, OnlyNaiveGoesWithoutSharedMemory) {
  for (const auto& [name, preset] : spec_.presets) {
    EXPECT_EQ(integer(preset, "SHARED"), name == "naive" ? 0 : 1) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(DataTypes, MatmulSpace, testing::Values("f32", "f16", "f64"),
                         [](const testing::TestParamInfo<std::string>& data_type) { return data_type.param; });

}  // namespace
}  // namespace tunebook::test
