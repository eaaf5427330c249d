// What `tune --presets` says binds planted kernels: each claim on one that shows it, and not on its twin.
#include <cstdio>
#include <map>
#include <string>

#include "cli_support.h"

namespace tunebook::test {
namespace {

class GpuBinding : public CliTest {
 protected:
  void SetUp() override {
    std::string obstacle = "no cuda:0";
    const auto listing = run_json({"devices", "--json"});  // named: a temporary would be gone before the first device
    for (const auto& device : listing["devices"]) {
      if (device["id"] == "cuda:0") obstacle = device["usable"].get<bool>() ? "" : device["error"].get<std::string>();
    }
    if (!obstacle.empty()) GTEST_SKIP() << obstacle;
    const ProgramResult calibrated = run({"calibrate", "--device", "cuda:0", "--json"}, 300);
    ASSERT_EQ(calibrated.exit_code, 0) << calibrated.err;
  }

  // Rung -> what binds it.
  std::map<std::string, std::string> binds(const std::string& kernel) {
    const auto tuned = run_json({"tune", kernel, "--templates", TUNEBOOK_SOURCE_DIR "/tests/data/binding", "--device", "cuda:0", "--budget", "1", "--finalists",
                                 "0", "--presets", "--json"},
                                300);
    std::map<std::string, std::string> found;
    for (const auto& rung : tuned["ladder"]) {
      EXPECT_EQ(rung["outcome"], "ok") << rung.dump();
      found[rung["name"]] = rung["binds"];
      print(kernel, rung);
    }
    counted_ = tuned["ladder"].dump().find("counted") != std::string::npos || tuned["ladder"].dump().find("bank conflicts") != std::string::npos;
    return found;
  }

  // For the record of a machine that is not at hand.
  static void print(const std::string& kernel, const nlohmann::ordered_json& rung) {
    std::printf("%s %s: %s us, %s, %s\n", kernel.c_str(), rung["name"].get<std::string>().c_str(), rung["median_us"].dump().c_str(), rung["binds"].dump().c_str(),
                rung["reason"].dump().c_str());
  }

  bool counted_ = false;  // some counters could be read
};

TEST_F(GpuBinding, ArithmeticLatencyOccupancySpills) {
  const auto chain = binds("chain");
  EXPECT_EQ(chain.at("default"), "arithmetic");
  EXPECT_EQ(chain.at("few_blocks"), "latency");
  EXPECT_EQ(chain.at("little_room"), "occupancy");
  EXPECT_EQ(chain.at("room"), "arithmetic");
  EXPECT_EQ(chain.at("few_registers"), "spills");
  EXPECT_EQ(chain.at("registers"), "arithmetic");
}

TEST_F(GpuBinding, Bandwidth) {
  const auto copy = binds("copy");
  EXPECT_EQ(copy.at("default"), "bandwidth");
  EXPECT_EQ(copy.at("few_blocks"), "latency");
}

TEST_F(GpuBinding, LatencyThatOnlyCountersShow) {
  const auto walk = binds("walk");
  if (!counted_) {
    EXPECT_EQ(walk.at("one_lane"), "unknown");
    GTEST_SKIP() << "no counters can be read here";
  }
  EXPECT_EQ(walk.at("one_lane"), "latency");
  EXPECT_EQ(walk.at("default"), "bandwidth");
}

TEST_F(GpuBinding, BankConflicts) {
  const auto columns = binds("columns");
  if (!counted_) {
    EXPECT_EQ(columns.at("one_bank"), "unknown");
    GTEST_SKIP() << "no counters can be read here";
  }
  EXPECT_EQ(columns.at("one_bank"), "bank conflicts");
  EXPECT_NE(columns.at("default"), "bank conflicts");
}

}  // namespace
}  // namespace tunebook::test
