#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "core/device.h"
#include "core/launch_plan.h"
#include "tunebook/launch.h"

namespace tunebook {

// A kernel that the device does not take: another configuration may do.
class KernelRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A kernel in the process, with the shape of its launch.
class LoadedLaunch {
 public:
  virtual ~LoadedLaunch() = default;
  // Queues one launch. `arguments`: addresses of the kernel's parameters. Throws LaunchError.
  virtual void launch(void** arguments, CUstream_st* stream) const = 0;
};

// Where kernels are launched. All members may be called by several threads at once.
class LaunchDevice {
 public:
  virtual ~LaunchDevice() = default;
  virtual const Device& device() const = 0;
  virtual const std::string& native_arch() const = 0;  // "sm_90"
  // Loads a cubin. Throws KernelRefused, LaunchError; std::invalid_argument if there is no device.
  virtual std::shared_ptr<const LoadedLaunch> load(const std::string& cubin, const std::string& symbol, const LaunchShape& shape) = 0;
};

// GPU `ordinal`. Throws EnvironmentError if it cannot be used.
std::unique_ptr<LaunchDevice> open_launch_device(int ordinal);

// A device that is not there, of architecture "sm_90"; what `key` leaves open comes from a table. Throws std::invalid_argument for
// another text, or a key of another kind or compute capability.
std::unique_ptr<LaunchDevice> offline_launch_device(const std::string& architecture, DeviceKey key);

}  // namespace tunebook
