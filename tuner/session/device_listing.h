#pragma once

#include <optional>
#include <string>
#include <vector>

#include "session/device_choice.h"
#include "worker/message.h"

namespace tunebook {

// A device as `devices` lists it; `error` says why it cannot be used.
struct DeviceListing {
  std::string id;       // "cuda:0", "cpu"
  std::optional<Hello> hello;
  std::string error;
};
std::vector<DeviceListing> list_devices();
// One device; an automatic choice gives the best one present. Never throws for a device that cannot be used.
DeviceListing probe_device(const DeviceChoice& choice);

}  // namespace tunebook
