#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>

#include "core/device.h"
#include "core/outcome.h"
#include "worker/message.h"

namespace tunebook {

// A candidate that cannot be run, for a reason found before it was launched.
class LaunchRefused : public std::runtime_error {
 public:
  LaunchRefused(Outcome outcome, const std::string& message) : std::runtime_error(message), outcome_(outcome) {}
  Outcome outcome() const { return outcome_; }

 private:
  Outcome outcome_;
};

// A cubin in the process, and one kernel of it.
class LoadedKernel {
 public:
  // Throws LaunchRefused if the file cannot be read, CudaError if the driver does not take it.
  LoadedKernel(const std::string& artifact, const std::string& symbol);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  // Checks that a launch of this shape is possible and sets the kernel up for it (dynamic shared memory over 48 KiB); must precede
  // launch(). Returns what the driver knows of it. Throws LaunchRefused (no_resources), CudaError.
  Resources prepare(const LaunchShape& shape);

  // Queues one launch. `arguments`: addresses of the kernel's parameters. Throws CudaError.
  void launch(const LaunchShape& shape, void** arguments, cudaStream_t stream) const;

 private:
  std::string image_;
  std::string symbol_;
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
  std::int64_t prepared_shared_bytes_ = 0;
};

}  // namespace tunebook
