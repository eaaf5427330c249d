#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/ceiling.h"
#include "core/device.h"
#include "session/device_choice.h"
#include "worker/message.h"

namespace tunebook {

struct CalibrationOptions {
  CacheMode cache = CacheMode::cold;
  std::vector<std::int64_t> bytes;  // empty: calibration_sizes()
  std::function<bool()> stop;       // may be empty; asked several times a second
};

struct CalibrationResult {
  std::string id;                   // "cuda:0", "cpu"
  Hello hello;                      // of the runner; its device is set
  std::vector<Ceiling> ceilings;    // empty if it was stopped
  bool stopped = false;
};

// From 64 KiB in steps of four to 4 GiB, but no more than a quarter of the device's memory; on the cpu device to 256 MiB.
std::vector<std::int64_t> calibration_sizes(const Device& device);

// Measures the ceilings of a device in a runner of its own. Throws InputError for a device that cannot be used, EnvironmentError if
// the runner is lost or fails.
CalibrationResult calibrate_device(const DeviceChoice& choice, const CalibrationOptions& options);

}  // namespace tunebook
