#include "cuda/device_info.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "cuda/cuda_error.h"

namespace tunebook {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// "580.159.04" as the kernel module says it, or "" where (in some containers) /proc/driver and /sys/module are hidden.
std::string module_version() {
  std::string text;
  if (std::ifstream module("/sys/module/nvidia/version"); module >> text) return text;
  if (std::ifstream proc("/proc/driver/nvidia/version"); std::getline(proc, text)) {
    // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue ...": the first word that is digits and dots.
    std::size_t start = 0;
    while (start < text.size()) {
      const std::size_t end = std::min(text.find(' ', start), text.size());
      const std::string word = text.substr(start, end - start);
      if (word.find('.') != word.npos && word.find_first_not_of("0123456789.") == word.npos) return word;
      start = end + 1;
    }
  }
  return "";
}

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, ordinal), "describing the device");
  return value;
}

// As nvidia-smi prints it: "GPU-8-4-4-4-12 digits". Of a MIG instance CUDA gives its own.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

DeviceLimits limits_of(const cudaDeviceProp& properties, int ordinal) {
  DeviceLimits limits;
  limits.max_threads_per_block = properties.maxThreadsPerBlock;
  for (std::size_t i = 0; i < 3; ++i) {
    limits.max_block[i] = properties.maxThreadsDim[i];
    limits.max_grid[i] = properties.maxGridSize[i];
  }
  limits.shared_bytes_per_block = static_cast<std::int64_t>(properties.sharedMemPerBlock);
  limits.shared_bytes_per_block_optin = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  limits.shared_bytes_per_sm = static_cast<std::int64_t>(properties.sharedMemPerMultiprocessor);
  limits.reserved_shared_bytes_per_block = static_cast<std::int64_t>(properties.reservedSharedMemPerBlock);
  limits.registers_per_block = properties.regsPerBlock;
  limits.registers_per_sm = properties.regsPerMultiprocessor;
  limits.max_threads_per_sm = properties.maxThreadsPerMultiProcessor;
  limits.max_blocks_per_sm = attribute(cudaDevAttrMaxBlocksPerMultiprocessor, ordinal);
  limits.warp_size = properties.warpSize;
  limits.l2_bytes = properties.l2CacheSize;
  return limits;
}

}  // namespace

int parse_cuda_device(const std::string& device) {
  if (device.empty() || device == "cuda") return 0;
  constexpr std::string_view kPrefix = "cuda:";
  int ordinal = -1;
  if (device.starts_with(kPrefix)) {
    const auto [end, error] = std::from_chars(device.data() + kPrefix.size(), device.data() + device.size(), ordinal);
    if (error != std::errc{} || end != device.data() + device.size()) ordinal = -1;
  }
  if (ordinal < 0) throw EnvironmentError(fmt::format("\"{}\" is no CUDA device: write cuda:0, cuda:1, ...", device));
  return ordinal;
}

void find_device(int ordinal) {
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found == cudaErrorInsufficientDriver) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    if (driver == 0) {
      throw EnvironmentError("no NVIDIA driver is installed (libcuda.so.1 was not found); install one, or use --device cpu");
    }
    throw EnvironmentError(fmt::format("the NVIDIA driver supports CUDA {} and this program needs {}; update the driver, or use --device cpu",
                                       version_text(driver), version_text(CUDART_VERSION)));
  }
  if (found != cudaSuccess || count == 0) {
    throw EnvironmentError(fmt::format("no CUDA device can be used ({}); see nvidia-smi, or use --device cpu",
                                       found == cudaSuccess ? "none found" : cudaGetErrorString(found)));
  }
  if (ordinal >= count) {
    throw EnvironmentError(fmt::format("there is no cuda:{}: {} found, numbered from 0 (CUDA_VISIBLE_DEVICES may hide others)", ordinal,
                                       count == 1 ? "one CUDA device was" : fmt::format("{} CUDA devices were", count)));
  }
  if (attribute(cudaDevAttrComputeMode, ordinal) == cudaComputeModeProhibited) {
    throw EnvironmentError(fmt::format("cuda:{} is in compute mode \"prohibited\": choose another device, or see nvidia-smi --compute-mode", ordinal));
  }
}

Hello describe_device(int ordinal, const std::string& nvml_driver) {
  cudaDeviceProp properties = {};
  check_cuda(cudaGetDeviceProperties(&properties, ordinal), "describing the device");
  Device device;
  device.kind = "cuda";
  device.name = properties.name;
  device.compute_capability = properties.major * 10 + properties.minor;
  device.sm_count = properties.multiProcessorCount;
  device.memory_gib = std::llround(static_cast<double>(properties.totalGlobalMem) / (1 << 30));
  device.limits = limits_of(properties, ordinal);

  int driver = 0, runtime = 0, devices = 0;
  check_cuda(cudaGetDeviceCount(&devices), "describing the device");
  check_cuda(cudaDriverGetVersion(&driver), "describing the device");
  check_cuda(cudaRuntimeGetVersion(&runtime), "describing the device");
  std::string module = module_version();
  if (module.empty()) module = nvml_driver;
  Hello hello;
  hello.role = WorkerRole::runner;
  hello.native_arch = fmt::format("sm_{}", device.compute_capability);
  hello.driver = module.empty() ? fmt::format("CUDA {}", version_text(driver)) : fmt::format("{} (CUDA {})", module, version_text(driver));
  hello.toolchain = "cuda runtime " + version_text(runtime);
  hello.environment = {{"cuda_runtime", version_text(runtime)},
                       {"cuda_driver", version_text(driver)},
                       {"driver", module},
                       {"device_count", devices},
                       {"ordinal", ordinal},
                       {"pci", fmt::format("{:04x}:{:02x}:{:02x}.0", properties.pciDomainID, properties.pciBusID, properties.pciDeviceID)},
                       {"uuid", uuid_text(properties.uuid)},
                       {"ecc", properties.ECCEnabled != 0},
                       {"clock_khz", attribute(cudaDevAttrClockRate, ordinal)},
                       {"memory_clock_khz", attribute(cudaDevAttrMemoryClockRate, ordinal)},
                       {"memory_bus_bits", properties.memoryBusWidth}};
  hello.device = std::move(device);
  return hello;
}

void open_device(int ordinal) {
  cudaError_t opened = cudaSetDevice(ordinal);
  if (opened == cudaSuccess) opened = cudaFree(nullptr);
  if (opened != cudaSuccess) {
    throw EnvironmentError(fmt::format("cuda:{} cannot be used: {} ({}); another process may have it in exclusive mode or fill its memory",
                                       ordinal, cudaGetErrorString(opened), cudaGetErrorName(opened)));
  }
}

}  // namespace tunebook
