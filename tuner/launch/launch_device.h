#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/launch_plan.h"
#include "launch/launch_copies.h"
#include "tunebook/launch.h"

namespace tunebook {

// A kernel that the device does not take: another configuration may do.
class KernelRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What a call launches: kernels of one cubin in order, with the arguments that the caller does not give.
struct LaunchRecipe {
  struct OwnScalar {
    std::size_t argument = 0;
    std::array<unsigned char, 8> bytes = {};
  };
  struct Step {
    std::string symbol;
    LaunchShape shape;
    std::vector<OwnScalar> scalars;
  };
  struct Workspace {
    std::size_t argument = 0;
    std::size_t bytes = 0;
    bool zero = false;
  };
  std::vector<Step> steps;  // at least one
  std::size_t arguments = 0;               // of each kernel
  std::vector<std::size_t> given;          // for each argument of the caller: its place among the kernel's
  std::vector<Workspace> workspaces;
};

// Kernels in the process, with the shapes of their launches.
class LoadedLaunch {
 public:
  virtual ~LoadedLaunch() = default;
  // Queues all launches. `arguments`: addresses of what the caller gives. Throws LaunchError.
  virtual void launch(void** arguments, CUstream_st* stream) const = 0;
};

// Where kernels are launched. All members may be called by several threads at once.
class LaunchDevice {
 public:
  virtual ~LaunchDevice() = default;
  virtual const Device& device() const = 0;
  virtual const std::string& native_arch() const = 0;  // "sm_90"
  // Loads a cubin. Throws KernelRefused, LaunchError; std::invalid_argument if there is no device.
  virtual std::shared_ptr<const LoadedLaunch> load(const std::string& cubin, const LaunchRecipe& recipe) = 0;
  // Copies of what a launch on `stream` would be given, made before whatever is queued there next. Null: not now, the
  // stream is being captured. Throws std::invalid_argument for buffers that cannot be copied one by one;
  // CandidateFailed if memory is short; LaunchError.
  virtual std::unique_ptr<LaunchCopies> copy_arguments(const CopyPlan& plan, void** addresses, CUstream_st* stream) = 0;
};

// GPU `ordinal`. Throws EnvironmentError if it cannot be used.
std::unique_ptr<LaunchDevice> open_launch_device(int ordinal);

// A device that is not there, of architecture "sm_90"; what `key` leaves open comes from a table. Throws std::invalid_argument for
// another text, or a key of another kind or compute capability.
std::unique_ptr<LaunchDevice> offline_launch_device(const std::string& architecture, DeviceKey key);

}  // namespace tunebook
