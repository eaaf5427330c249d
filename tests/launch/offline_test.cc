// With the real NVRTC, without a GPU: the public classes as an application that only compiles uses them.

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "launcher_fixture.h"
#include "tunebook/launch.h"

namespace tunebook::testing {
namespace {

class OfflineTest : public LauncherTest {
 protected:
  LaunchOptions offline(const std::string& architecture = "sm_90") const {
    LaunchOptions chosen = options();
    chosen.architecture = architecture;
    chosen.offline_device.name = "NVIDIA H200";
    return chosen;
  }
};

TEST_F(OfflineTest, ACubinForANamedArchitecture) {
  tune(tile(32, true));
  Launcher launcher(offline());
  const Cubin cubin = launcher.cubin("matmul", problem(128));
  EXPECT_EQ(cubin.bytes.substr(1, 3), "ELF");
  EXPECT_NE(cubin.bytes.find(".text." + cubin.about.symbol), std::string::npos);
  EXPECT_EQ(cubin.about.symbol.substr(0, 9), "_Z6matmul");
  EXPECT_EQ(cubin.about.tier, Tier::exact);
  EXPECT_EQ(cubin.about.configuration, tile_values(32, true));
  EXPECT_EQ(cubin.about.launches.front().block, (std::array<std::int64_t, 3>{32, 4, 1}));
  EXPECT_GT(cubin.about.registers, 0);
  EXPECT_FALSE(cubin.about.cached);
  EXPECT_TRUE(launcher.cubin("matmul", problem(128)).about.cached);
  const Cubin again = Launcher(offline()).cubin("matmul", problem(128));
  EXPECT_TRUE(again.about.cached);
  EXPECT_EQ(again.bytes, cubin.bytes);
}

TEST_F(OfflineTest, AConfigurationThatDoesNotCompileGivesThePreset) {
  tune(tile(32, true));
  write_template(kSpecText, "static_assert(!PAD, \"no padding here\");\nc[0] = a[0];");
  const Cubin cubin = Launcher(offline()).cubin("matmul", problem(128));
  EXPECT_EQ(cubin.about.configuration, tile_values(16, false));
  EXPECT_NE(cubin.about.note.find("no padding here"), std::string::npos) << cubin.about.note;
}

TEST_F(OfflineTest, LimitsAreThoseOfTheNamedDevice) {
  tune(tile(64, false));
  LaunchOptions small = offline();
  small.offline_device.shared_bytes_per_block_optin = 8192;  // BM = 64 needs 16 KiB
  EXPECT_EQ(Launcher(offline()).cubin("matmul", problem(128)).about.configuration, tile_values(64, false));
  EXPECT_EQ(Launcher(small).cubin("matmul", problem(128)).about.tier, Tier::preset_default);
}

TEST_F(OfflineTest, CodeForOneArchitectureIsCompiledForItAndNeverCrosses) {
  std::string spec = kSpecText;
  spec.insert(spec.find("\"arguments\""), "\"arch\": \"PAD ? 'sm_90a' : native\",\n  ");
  write_template(spec);
  TrialContext tuned = context();
  tuned.kernel_spec = nlohmann::ordered_json::parse(spec);
  {
    Store store(file());
    add_finished_session(store, tuned, matmul_problem(128, 64, 64), tile(32, true), 10);
  }
  EXPECT_EQ(Launcher(offline()).cubin("matmul", problem(128)).about.architecture, "sm_90a");
  LaunchOptions other = offline("sm_80");
  other.offline_device.name = "NVIDIA A100";
  const Cubin cubin = Launcher(other).cubin("matmul", problem(128));
  EXPECT_EQ(cubin.about.architecture, "sm_80");
  EXPECT_EQ(cubin.about.configuration, tile_values(16, false));
}

TEST_F(OfflineTest, NothingIsLaunchedOffline) {
  Launcher launcher(offline());
  EXPECT_THROW(launcher.get("matmul", problem(128)), std::invalid_argument);
}

TEST_F(OfflineTest, BadOptionsAreRefused) {
  for (const char* architecture : {"sm_", "90", "sm_90a", "compute_90", "sm_90; rm -rf", "-I/"}) {
    EXPECT_THROW(Launcher{offline(architecture)}, std::invalid_argument) << architecture;
  }
  LaunchOptions other = offline();
  other.offline_device.compute_capability = 80;
  EXPECT_THROW(Launcher{other}, std::invalid_argument);
  LaunchOptions missing = offline();
  missing.book = (folder_ / "no.db").string();
  EXPECT_THROW(Launcher{missing}, std::runtime_error);
  LaunchOptions negative = options();
  negative.device = -1;
  EXPECT_THROW(Launcher{negative}, std::invalid_argument);
}

TEST_F(OfflineTest, AMovedFromLauncherSaysSo) {
  Launcher launcher(offline());
  Launcher other = std::move(launcher);
  EXPECT_THROW(launcher.cubin("matmul", problem(128)), std::invalid_argument);  // NOLINT: that is what is tested
  EXPECT_EQ(other.cubin("matmul", problem(128)).about.tier, Tier::preset_default);
}

}  // namespace
}  // namespace tunebook::testing
