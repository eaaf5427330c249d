// What every bundled template keeps, so that a lookup has an answer for whatever shape and data type.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/template_folder.h"
#include "db/lookup_limits.h"

namespace tunebook::test {
namespace {

std::vector<std::filesystem::path> bundled_folders() {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(TUNEBOOK_SOURCE_DIR "/templates")) {
    if (std::filesystem::exists(entry.path() / "kernel.json")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

TEST(BundledTemplates, AreThere) { EXPECT_FALSE(bundled_folders().empty()); }

TEST(BundledTemplates, AreNamedAsTheirFolders) {
  for (const auto& folder : bundled_folders()) {
    EXPECT_EQ(load_template(folder).spec.name, folder.filename().string());
  }
}

// Some need what a data-centre GPU has; `default` does not (the next test).
TEST(BundledTemplates, PresetsAreValidOnTheDeclaredProblems) {
  Device device = KernelSpec::generic_device();
  device.compute_capability = 90;
  device.sm_count = 132;
  device.limits = limits_of_compute_capability(90);
  for (const auto& folder : bundled_folders()) {
    const std::vector<std::string> messages = load_template(folder).spec.check_presets(device);
    EXPECT_EQ(messages, std::vector<std::string>()) << folder;
  }
}

TEST(BundledTemplates, DefaultIsValidOnRandomShapes) {
  for (const auto& folder : bundled_folders()) {
    const std::vector<std::string> messages = load_template(folder).spec.check_default_on_random_shapes(KernelSpec::generic_device());
    EXPECT_EQ(messages, std::vector<std::string>()) << folder;
  }
}

}  // namespace
}  // namespace tunebook::test
