// Which device may run which items.
#include "sweep/lane.h"

#include <map>

#include <gtest/gtest.h>

#include "sweep_samples.h"

namespace tunebook {
namespace {

std::map<std::string, LanePlan> lanes(const FrozenPlan& plan, const std::vector<std::string>& gpus) {
  std::map<std::string, LanePlan> result;
  const auto recorded_on = [](const std::string& path) { return RecordedOn{path.substr(0, 2), "GPU of " + path.substr(0, 2)}; };
  for (const LanePlan& lane : plan_lanes(plan, test::all_of(plan), gpus, recorded_on)) result[lane.key] = lane;
  return result;
}

TEST(Lanes, AnyGpuSharesAmongThoseThatAreThere) {
  const auto found = lanes(test::sample_plan(4, {"cuda", "cuda:1"}), {"cuda:0", "cuda:1"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at("cuda:0").items, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(found.at("cuda:1").items, (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_TRUE(found.at("cuda:0").shares);
  EXPECT_TRUE(found.at("cuda:1").shares);
}

TEST(Lanes, NamedGpusShareNothing) {
  const auto found = lanes(test::sample_plan(4, {"cuda:0", "cuda:1"}), {});
  EXPECT_EQ(found.at("cuda:0").items, (std::vector<std::size_t>{0, 2}));
  EXPECT_FALSE(found.at("cuda:0").shares);
}

TEST(Lanes, AMachineWithoutGpusSaysSoByTheFirst) { EXPECT_TRUE(lanes(test::sample_plan(1, {"cuda"}), {}).contains("cuda:0")); }

TEST(Lanes, TheCpuMeasuresAlone) {
  const auto found = lanes(test::sample_plan(2, {"cpu", "cuda:0"}), {});
  EXPECT_TRUE(found.at("cpu").alone);
  EXPECT_FALSE(found.at("cuda:0").alone);
}

TEST(Lanes, RecordingsOfOneDeviceFollowEachOther) {
  const auto found = lanes(test::sample_plan(3, {"replay:aa/1", "replay:bb/1", "replay:aa/2"}), {});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at("replay aa").items, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(found.at("replay aa").device, "");
  EXPECT_EQ(found.at("replay bb").name, "replay: GPU of bb");
}

}  // namespace
}  // namespace tunebook
