#include "cuda/loaded_kernel.h"

#include <cstdint>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "cuda/cuda_error.h"

namespace tunebook {
namespace {

// Launches that need more dynamic shared memory must ask for it.
constexpr std::int64_t kSharedBytesWithoutOptIn = 48 << 10;

// The runtime takes a cudaKernel_t wherever it takes a kernel's host function.
const void* as_function(cudaKernel_t kernel) { return reinterpret_cast<const void*>(kernel); }

dim3 as_dim3(const std::array<std::int64_t, 3>& size) {
  return {static_cast<unsigned>(size[0]), static_cast<unsigned>(size[1]), static_cast<unsigned>(size[2])};
}

std::string describe(const LaunchShape& shape) {
  return fmt::format("grid {}x{}x{}, block {}x{}x{}, {} bytes of dynamic shared memory", shape.grid[0], shape.grid[1], shape.grid[2],
                     shape.block[0], shape.block[1], shape.block[2], shape.shared_bytes);
}

// Sizes that do not survive the narrowing to dim3.
void check_range(const LaunchShape& shape) {
  for (const auto& sizes : {shape.grid, shape.block}) {
    for (const std::int64_t size : sizes) {
      if (size < 1 || size > INT32_MAX) throw LaunchRefused(Outcome::no_resources, "impossible launch: " + describe(shape));
    }
  }
}

}  // namespace

LoadedKernel::LoadedKernel(const std::string& artifact, const std::string& symbol) : symbol_(symbol) {
  std::ifstream file(artifact, std::ios::binary);
  if (file) image_.assign(std::istreambuf_iterator<char>(file), {});
  if (image_.empty()) throw LaunchRefused(Outcome::launch_error, fmt::format("cannot read the compiled kernel {}", artifact));
  check_cuda(cudaLibraryLoadData(&library_, image_.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "loading the kernel");
  const cudaError_t found = cudaLibraryGetKernel(&kernel_, library_, symbol.c_str());
  if (found != cudaSuccess) {
    TUNEBOOK_REPORT_CUDA(cudaLibraryUnload(library_));
    check_cuda(found, "finding the kernel");
  }
}

LoadedKernel::~LoadedKernel() { TUNEBOOK_REPORT_CUDA(cudaLibraryUnload(library_)); }

Resources LoadedKernel::prepare(const LaunchShape& shape) {
  check_range(shape);
  cudaFuncAttributes attributes = {};
  check_cuda(cudaFuncGetAttributes(&attributes, as_function(kernel_)), "loading the kernel");
  Resources resources;
  resources.registers = attributes.numRegs;
  resources.shared_static_bytes = static_cast<std::int64_t>(attributes.sharedSizeBytes);
  resources.shared_dynamic_bytes = shape.shared_bytes;
  resources.max_threads_per_block = attributes.maxThreadsPerBlock;
  if (shape.threads() > attributes.maxThreadsPerBlock) {
    throw LaunchRefused(Outcome::no_resources, fmt::format("block of {} threads, the kernel allows {} ({} registers per thread)",
                                                           shape.threads(), attributes.maxThreadsPerBlock, attributes.numRegs));
  }
  // Only ever more: launches prepared earlier, for other problems, may need as much as they asked for.
  if (shape.shared_bytes > kSharedBytesWithoutOptIn && shape.shared_bytes > prepared_shared_bytes_) {
    const cudaError_t set = cudaFuncSetAttribute(as_function(kernel_), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 static_cast<int>(shape.shared_bytes));
    if (set == cudaErrorInvalidValue) {
      cudaGetLastError();
      throw LaunchRefused(Outcome::no_resources, fmt::format("{} bytes of dynamic and {} of static shared memory are more than a block can have",
                                                             shape.shared_bytes, attributes.sharedSizeBytes));
    }
    check_cuda(set, "asking for dynamic shared memory");
    prepared_shared_bytes_ = shape.shared_bytes;
  }
  int blocks = 0;
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, as_function(kernel_), static_cast<int>(shape.threads()),
                                                           static_cast<std::size_t>(shape.shared_bytes)),
             "asking for the occupancy");
  resources.blocks_per_sm = blocks;
  if (blocks == 0) {
    throw LaunchRefused(Outcome::no_resources, fmt::format("no block fits a multiprocessor: {}, {} registers per thread, {} bytes of static "
                                                           "shared memory",
                                                           describe(shape), attributes.numRegs, attributes.sharedSizeBytes));
  }
  return resources;
}

void LoadedKernel::launch(const LaunchShape& shape, void** arguments, cudaStream_t stream) const {
  cudaLaunchConfig_t config = {};
  config.gridDim = as_dim3(shape.grid);
  config.blockDim = as_dim3(shape.block);
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
  config.stream = stream;
  const cudaError_t code = cudaLaunchKernelExC(&config, as_function(kernel_), arguments);
  if (code != cudaSuccess) check_cuda(code, fmt::format("launching {}: {}", symbol_, describe(shape)).c_str());
}

}  // namespace tunebook
