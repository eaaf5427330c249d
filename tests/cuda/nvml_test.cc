#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "cuda/nvml_device.h"
#include "cuda/nvml_library.h"
#include "fake_nvml_support.h"

namespace tunebook {
namespace {

class Nvml : public FakeNvmlTest {
 protected:
  std::unique_ptr<NvmlDevice> find(const std::string& pci, const std::string& uuid = "") {
    why_.clear();
    return NvmlDevice::find(NvmlLibrary::open(why_), pci, uuid, why_);
  }
  std::string why_;
};

TEST_F(Nvml, ReadsWhatTheDeviceDoes) {
  const auto device = find(kPci);
  ASSERT_TRUE(device) << why_;
  ::setenv("FAKE_NVML_REASONS", "0x24", 1);
  const NvmlReading reading = device->read();
  EXPECT_EQ(reading.sm_clock_mhz, 1500);
  EXPECT_EQ(reading.memory_clock_mhz, 3200);
  EXPECT_EQ(reading.temperature_c, 41);
  EXPECT_EQ(reading.power_w, 250.5);
  EXPECT_EQ(throttle_text(reading.clock_reasons), "power cap, thermal");
  EXPECT_EQ(device->total_energy_mj(), 123456u);
}

TEST_F(Nvml, DescribesWhatIsSet) {
  const auto device = find(kPci);
  ASSERT_TRUE(device) << why_;
  const nlohmann::json expected = {{"max_sm_clock_mhz", 1980}, {"max_memory_clock_mhz", 3201}, {"power_limit_w", 700}, {"ecc", true},
                                   {"mig", false}, {"energy_counter", true}, {"driver", "999.1"}};
  EXPECT_EQ(device->environment(), expected);
}

TEST_F(Nvml, IsFoundByUuidWhereTheBusIdIsUnknown) {
  EXPECT_TRUE(find("0000:99:00.0", kUuid)) << why_;
  EXPECT_TRUE(find("", kUuid)) << why_;
  EXPECT_FALSE(find("0000:99:00.0", "GPU-other"));
  EXPECT_NE(why_.find("0000:99:00.0: Not Found"), std::string::npos) << why_;
}

TEST_F(Nvml, AMigInstanceIsServedByItsParentButHasNoEnergyOfItsOwn) {
  ::setenv("FAKE_NVML_MIG", "1", 1);
  for (const auto& device : {find(kPci), find("", kUuid)}) {
    ASSERT_TRUE(device) << why_;
    EXPECT_EQ(device->read().sm_clock_mhz, 1500);
    EXPECT_EQ(device->environment().at("mig"), true);
    EXPECT_EQ(device->environment().at("energy_counter"), false);
    EXPECT_FALSE(device->total_energy_mj());
  }
}

TEST_F(Nvml, MissingOrBrokenLibraryIsAReason) {
  ::setenv("FAKE_NVML_BROKEN", "1", 1);
  EXPECT_FALSE(find(kPci));
  EXPECT_EQ(why_, "NVML does not start: Unknown Error (NVML error 999)");
  ::setenv("TUNEBOOK_NVML", "/nowhere/libnvidia-ml.so.1", 1);
  EXPECT_FALSE(find(kPci));
  EXPECT_EQ(why_.find("no NVML: "), 0u) << why_;
}

TEST_F(Nvml, MissingFunctionsLeaveTheirValuesEmpty) {
  ::setenv("TUNEBOOK_NVML", FAKE_NVML_MINIMAL_FILE, 1);
  const auto device = find(kPci);
  ASSERT_TRUE(device) << why_;
  const NvmlReading reading = device->read();
  EXPECT_FALSE(reading.sm_clock_mhz || reading.memory_clock_mhz || reading.temperature_c || reading.power_w);
  EXPECT_EQ(reading.clock_reasons, 0u);
  EXPECT_FALSE(device->total_energy_mj());
  EXPECT_EQ(device->environment(), nlohmann::json({{"energy_counter", false}}));
  EXPECT_EQ(device->lock_clocks(1500), "this driver cannot lock clocks");
}

TEST_F(Nvml, LocksAndResetsClocks) {
  const auto device = find(kPci);
  ASSERT_TRUE(device) << why_;
  EXPECT_EQ(device->lock_clocks(1500), "");
  EXPECT_EQ(device->reset_clocks(), "");
  EXPECT_EQ(log(), "lock 1500 1500\nreset\n");
}

TEST(ThrottleReasons, OnlyWantOfPowerOrCoolingCounts) {
  // Idle, application clocks, sync boost, display clocks.
  EXPECT_EQ(throttle_bits(0x1 | 0x2 | 0x10 | 0x100), 0u);
  EXPECT_EQ(throttle_bits(0xFFF), 0xECu);
  EXPECT_EQ(throttle_text(0x48), "thermal (hardware), hardware slowdown");
  EXPECT_EQ(throttle_text(0x88), "power brake, hardware slowdown");
}

}  // namespace
}  // namespace tunebook
