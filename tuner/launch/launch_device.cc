#include "launch/launch_device.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "cuda/cuda_error.h"
#include "cuda/device_info.h"
#include "cuda/loaded_kernel.h"
#include "db/lookup_limits.h"
#include "launch/cuda_copies.h"
#include "launch/relaxed_capture.h"

namespace tunebook {
namespace {

class CudaLaunch : public LoadedLaunch {
 public:
  CudaLaunch(std::vector<std::shared_ptr<const LoadedKernel>> kernels, LaunchRecipe recipe)
      : kernels_(std::move(kernels)), recipe_(std::move(recipe)), plain_(recipe_.steps.size() == 1 && recipe_.given.size() == recipe_.arguments) {}

  void launch(void** arguments, CUstream_st* stream) const override {
    try {
      if (plain_) return kernels_.front()->launch(recipe_.steps.front().shape, arguments, stream);
      launch_all(arguments, stream);
    } catch (const CudaError& error) {
      throw LaunchError(error.code(), error.what());
    }
  }

 private:
  // Memory in the order of the stream: launches on several streams at once do not share it.
  class StreamMemory {
   public:
    StreamMemory(const LaunchRecipe::Workspace& workspace, CUstream_st* stream) : stream_(stream) {
      check_cuda(cudaMallocAsync(&memory_, std::max<std::size_t>(workspace.bytes, 1), stream), "allocating a workspace");
      if (workspace.zero) check_cuda(cudaMemsetAsync(memory_, 0, workspace.bytes, stream), "clearing a workspace");
    }
    ~StreamMemory() { TUNEBOOK_REPORT_CUDA(cudaFreeAsync(memory_, stream_)); }
    StreamMemory(const StreamMemory&) = delete;
    StreamMemory& operator=(const StreamMemory&) = delete;
    void** address() { return &memory_; }

   private:
    void* memory_ = nullptr;
    CUstream_st* stream_;
  };

  void launch_all(void** arguments, CUstream_st* stream) const {
    std::deque<StreamMemory> workspaces;
    std::vector<void*> addresses(recipe_.arguments);
    for (std::size_t i = 0; i < recipe_.given.size(); ++i) addresses[recipe_.given[i]] = arguments[i];
    for (const LaunchRecipe::Workspace& workspace : recipe_.workspaces) {
      addresses[workspace.argument] = workspaces.emplace_back(workspace, stream).address();
    }
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const LaunchRecipe::Step& step = recipe_.steps[i];
      for (const LaunchRecipe::OwnScalar& scalar : step.scalars) {
        addresses[scalar.argument] = const_cast<unsigned char*>(scalar.bytes.data());  // CUDA reads it only
      }
      kernels_[i]->launch(step.shape, addresses.data(), stream);
    }
  }

  std::vector<std::shared_ptr<const LoadedKernel>> kernels_;  // by step
  LaunchRecipe recipe_;
  bool plain_;
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

  std::shared_ptr<const LoadedLaunch> load(const std::string& cubin, const LaunchRecipe& recipe) override {
    int current = -1;
    check_cuda(cudaGetDevice(&current), "asking for the current device");
    if (current == ordinal_) return load_here(cubin, recipe);
    // The caller works on another device. Choosing ours and then theirs again would create a context on theirs where there is none
    // yet; a thread of our own leaves them alone.
    return std::async(std::launch::async, [&] {
             check_cuda(cudaSetDevice(ordinal_), "choosing the device");
             return load_here(cubin, recipe);
           }).get();
  }

  std::unique_ptr<LaunchCopies> copy_arguments(const CopyPlan& plan, void** addresses, CUstream_st* stream) override {
    return copy_on_device(ordinal_, plan, addresses, stream);
  }

 private:
  // Kernels are shared by all problems that launch them with as much dynamic shared memory: how much they may use is a property of
  // the loaded kernel.
  using Key = std::pair<std::pair<std::string, std::string>, std::int64_t>;

  std::shared_ptr<const LoadedLaunch> load_here(const std::string& cubin, const LaunchRecipe& recipe) {
    const RelaxedCapture relaxed;  // loading allocates memory, which ends another thread's capture
    const std::lock_guard lock(mutex_);
    try {
      std::vector<std::shared_ptr<const LoadedKernel>> kernels;
      for (const LaunchRecipe::Step& step : recipe.steps) {
        std::weak_ptr<LoadedKernel>& known = kernels_[{{cubin, step.symbol}, step.shape.shared_bytes}];
        std::shared_ptr<LoadedKernel> kernel = known.lock();
        if (kernel == nullptr) known = kernel = std::make_shared<LoadedKernel>(cubin, step.symbol);
        kernel->prepare(step.shape);
        kernels.push_back(std::move(kernel));
      }
      return std::make_shared<CudaLaunch>(std::move(kernels), recipe);
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
  std::shared_ptr<const LoadedLaunch> load(const std::string&, const LaunchRecipe&) override {
    refuse();
  }
  std::unique_ptr<LaunchCopies> copy_arguments(const CopyPlan&, void**, CUstream_st*) override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw std::invalid_argument("a Launcher with LaunchOptions::architecture only compiles: use cubin(), or leave the option empty");
  }

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
