#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "cuda/nvml_library.h"

namespace tunebook {

// What a GPU was doing at one moment; empty where it does not say.
struct NvmlReading {
  std::optional<double> sm_clock_mhz, memory_clock_mhz, temperature_c, power_w;
  std::uint64_t clock_reasons = 0;  // nvmlClocksEventReasons bits; 0 also where they cannot be read
};

// Of the bits of NvmlReading::clock_reasons those that mean "slower than it could be, for want of power or cooling": software power
// cap, hardware slowdown, software and hardware thermal slowdown, power brake. Being idle, or clocks that somebody set, are none.
std::uint64_t throttle_bits(std::uint64_t clock_reasons);
// "power cap, thermal"; "" for none.
std::string throttle_text(std::uint64_t clock_reasons);

// One physical GPU as NVML sees it. A MIG instance is served by its parent: clocks, temperature and power are those of the whole.
class NvmlDevice {
 public:
  // Finds the GPU by its PCI bus id ("0000:1b:00.0", which NVML knows whatever CUDA_VISIBLE_DEVICES hides and however CUDA counts), else
  // by its UUID ("GPU-..." or "MIG-..."). Null, and the reason in `why`, if neither is known; never throws.
  static std::unique_ptr<NvmlDevice> find(std::shared_ptr<const NvmlLibrary> nvml, const std::string& pci_bus_id,
                                          const std::string& uuid, std::string& why);

  // Takes up to some milliseconds of the host's time.
  NvmlReading read() const;
  // Since the driver was loaded, in mJ; the counter moves every 20 to 100 ms. Empty where there is none, and on a GPU divided by MIG, whose
  // counter is that of all its instances.
  std::optional<std::uint64_t> total_energy_mj() const;
  // What is set rather than measured: ECC and MIG mode, application and largest clocks in MHz, power limit in W, driver version,
  // whether it counts energy ("energy_counter"). Keys are missing where the device does not say.
  nlohmann::json environment() const;

  // Holds the SM clock at `mhz`; returns why that failed, "" if it did not. Lasts until reset_clocks(), also when the process ends.
  std::string lock_clocks(int mhz) const;
  std::string reset_clocks() const;

 private:
  NvmlDevice(std::shared_ptr<const NvmlLibrary> nvml, NvmlLibrary::Handle handle);

  std::shared_ptr<const NvmlLibrary> nvml_;
  NvmlLibrary::Handle handle_;
  bool mig_ = false;
};

}  // namespace tunebook
