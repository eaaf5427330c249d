#include "launch/launch_device.h"

#include <charconv>
#include <future>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "cuda/cuda_error.h"
#include "cuda/device_info.h"
#include "cuda/loaded_kernel.h"
#include "db/lookup_limits.h"

namespace tunebook {
namespace {

class CudaLaunch : public LoadedLaunch {
 public:
  CudaLaunch(std::shared_ptr<const LoadedKernel> kernel, const LaunchShape& shape) : kernel_(std::move(kernel)), shape_(shape) {}

  void launch(void** arguments, CUstream_st* stream) const override {
    try {
      kernel_->launch(shape_, arguments, stream);
    } catch (const CudaError& error) {
      throw LaunchError(error.code(), error.what());
    }
  }

 private:
  std::shared_ptr<const LoadedKernel> kernel_;
  LaunchShape shape_;
};

class CudaLaunchDevice : public LaunchDevice {
 public:
  explicit CudaLaunchDevice(int ordinal) : ordinal_(ordinal) {
    find_device(ordinal);
    Hello hello = describe_device(ordinal, "");
    device_ = std::move(*hello.device);
    native_arch_ = std::move(hello.native_arch);
  }

  const Device& device() const override { return device_; }
  const std::string& native_arch() const override { return native_arch_; }

  std::shared_ptr<const LoadedLaunch> load(const std::string& cubin, const std::string& symbol, const LaunchShape& shape) override {
    int current = -1;
    check_cuda(cudaGetDevice(&current), "asking for the current device");
    if (current == ordinal_) return load_here(cubin, symbol, shape);
    // The caller works on another device. Choosing ours and then theirs again would create a context on theirs where there is none
    // yet; a thread of our own leaves them alone.
    return std::async(std::launch::async, [&] {
             check_cuda(cudaSetDevice(ordinal_), "choosing the device");
             return load_here(cubin, symbol, shape);
           }).get();
  }

 private:
  // Kernels are shared by all problems that launch them with as much dynamic shared memory: how much they may use is a property of
  // the loaded kernel.
  using Key = std::pair<std::pair<std::string, std::string>, std::int64_t>;

  std::shared_ptr<const LoadedLaunch> load_here(const std::string& cubin, const std::string& symbol, const LaunchShape& shape) {
    const std::lock_guard lock(mutex_);
    try {
      std::weak_ptr<LoadedKernel>& known = kernels_[{{cubin, symbol}, shape.shared_bytes}];
      std::shared_ptr<LoadedKernel> kernel = known.lock();
      if (kernel == nullptr) known = kernel = std::make_shared<LoadedKernel>(cubin, symbol);
      kernel->prepare(shape);
      return std::make_shared<CudaLaunch>(std::move(kernel), shape);
    } catch (const LaunchRefused& refused) {
      throw KernelRefused(refused.what());
    } catch (const CudaError& error) {
      // Short of memory or after a fault no other configuration does better.
      if (error.outcome() == Outcome::launch_error || error.outcome() == Outcome::no_resources) throw KernelRefused(error.what());
      throw LaunchError(error.code(), error.what());
    }
  }

  int ordinal_;
  Device device_;
  std::string native_arch_;
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<LoadedKernel>> kernels_;
};

class OfflineDevice : public LaunchDevice {
 public:
  OfflineDevice(Device device, std::string architecture) : device_(std::move(device)), native_arch_(std::move(architecture)) {}
  const Device& device() const override { return device_; }
  const std::string& native_arch() const override { return native_arch_; }
  std::shared_ptr<const LoadedLaunch> load(const std::string&, const std::string&, const LaunchShape&) override {
    throw std::invalid_argument("a Launcher with LaunchOptions::architecture only compiles: use cubin(), or leave the option empty");
  }

 private:
  Device device_;
  std::string native_arch_;
};

}  // namespace

std::unique_ptr<LaunchDevice> open_launch_device(int ordinal) {
  if (ordinal < 0) throw std::invalid_argument(fmt::format("LaunchOptions::device is {}: ordinals are numbered from 0", ordinal));
  return std::make_unique<CudaLaunchDevice>(ordinal);
}

std::unique_ptr<LaunchDevice> offline_launch_device(const std::string& architecture, DeviceKey key) {
  constexpr std::string_view kPrefix = "sm_";
  int capability = 0;
  const char* const end = architecture.data() + architecture.size();
  const bool named = architecture.starts_with(kPrefix);
  const auto parsed = named ? std::from_chars(architecture.data() + kPrefix.size(), end, capability) : std::from_chars_result{end, std::errc::invalid_argument};
  if (parsed.ec != std::errc{} || parsed.ptr != end || capability < 10) {
    throw std::invalid_argument(fmt::format("LaunchOptions::architecture is \"{}\", expected one such as sm_90", architecture));
  }
  if (key.kind != "cuda" || (key.compute_capability != 0 && key.compute_capability != capability)) {
    throw std::invalid_argument(fmt::format("LaunchOptions::offline_device is no CUDA device of {}", architecture));
  }
  key.compute_capability = capability;
  return std::make_unique<OfflineDevice>(actual_device(key, nullptr), architecture);
}

}  // namespace tunebook
