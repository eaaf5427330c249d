// The module with the libraries, which loads without a GPU.
#include "cuda/baseline_module.h"

#include <array>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace tunebook {
namespace {

// What a module says when it is opened by this name; "" if it opens.
std::string error_with(const char* file) {
  ::setenv("TUNEBOOK_BASELINES", file, 1);
  try {
    const BaselineModule module;
  } catch (const BaselineUnavailable& error) {
    return error.what();
  }
  return "";
}

TEST(BaselineModule, ANameThatIsNotThereIsSaid) {
  EXPECT_EQ(error_with("/nowhere/libtunebook-baselines.so"), "$TUNEBOOK_BASELINES names /nowhere/libtunebook-baselines.so, which is not there");
}

TEST(BaselineModule, AnotherFileIsRefused) {
  EXPECT_NE(error_with("/proc/self/exe").find("/proc/self/exe cannot be loaded: "), std::string::npos);
  EXPECT_NE(error_with(FAKE_NVML_FILE).find("lacks tunebook_baseline_abi: it is of another build"), std::string::npos);
}

TEST(BaselineModule, WithoutAnyItSaysWhereItWasLookedFor) {
  ::unsetenv("TUNEBOOK_BASELINES");
  try {
    const BaselineModule module;
    GTEST_SKIP() << "there is one beside this program: " << module.file();
  } catch (const BaselineUnavailable& error) {
    EXPECT_NE(std::string(error.what()).find("libtunebook-baselines.so was not found beside "), std::string::npos) << error.what();
  }
}

#ifdef BASELINES_MODULE

TEST(BaselineModule, LoadsAndKnowsWhichLibrariesThereAre) {
  ASSERT_EQ(error_with(BASELINES_MODULE), "");
  const BaselineModule module;
  EXPECT_EQ(module.file(), BASELINES_MODULE);
  const std::string libraries = module.libraries();
  for (const char* part : {"cuBLAS", "\ncuDNN", "\nCUB "}) EXPECT_NE(libraries.find(part), std::string::npos) << libraries;
}

TEST(BaselineModule, WhatItHasNotIsUnavailable) {
  ASSERT_EQ(error_with(BASELINES_MODULE), "");
  const BaselineModule module;
  const auto error_of = [&](const TunebookBaselineRequest& request) -> std::string {
    try {
      const BaselineModule::Prepared prepared(module, request);
    } catch (const BaselineUnavailable& error) {
      return std::string("unavailable: ") + error.what();
    } catch (const std::runtime_error& error) {
      return std::string("failed: ") + error.what();
    }
    return "";
  };
  std::array<TunebookBaselineBuffer, 2> buffers = {{{nullptr, "f32", 10}, {nullptr, "i8", 10}}};
  std::array<TunebookBaselineParameter, 2> parameters = {{{"n", "10"}, {"operation", "sum"}}};
  const auto request = [&](const char* operation) {
    return TunebookBaselineRequest{operation, buffers.data(), 2, parameters.data(), 2, nullptr, 0, 1 << 20, nullptr};
  };
  EXPECT_EQ(error_of(request("sort")), "unavailable: the module knows no operation sort");
  EXPECT_EQ(error_of(request("reduce")), "unavailable: no reduce of i8 is built in (f32, f64, f16, bf16, i32 are)");
  buffers[1].dtype = "f64";
  EXPECT_EQ(error_of(request("reduce")), "unavailable: no sum of f64 into f32 is built in");
  parameters[0].value = "11";
  EXPECT_NE(error_of(request("reduce")).find("failed: buffer 1 of reduce has 10 elements, the parameters need 11"), std::string::npos);
  parameters[0].value = "eleven";
  EXPECT_EQ(error_of(request("reduce")), "failed: n is no integer: eleven");
}

#endif

}  // namespace
}  // namespace tunebook
