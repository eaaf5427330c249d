#pragma once

#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>

#include "core/outcome.h"

namespace tunebook {

// A failed CUDA call: "cudaErrorIllegalAddress: an illegal memory access was encountered (in verify)".
class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const std::string& during);
  cudaError_t code() const { return code_; }
  // What the error says about the kernel that was asked for. Errors that are neither about memory, nor the launch's shape, nor
  // the image are what a running kernel leaves behind: Outcome::fault.
  Outcome outcome() const;

 private:
  cudaError_t code_;
};

// Throws CudaError unless `code` is cudaSuccess. `during`: the step, for the message.
void check_cuda(cudaError_t code, const char* during);
// For destructors: prints call, file and line; after a fault every call fails, which was reported already, and nothing is printed.
void report_cuda(cudaError_t code, const char* call, const char* file, int line) noexcept;
#define TUNEBOOK_REPORT_CUDA(call) ::tunebook::report_cuda((call), #call, __FILE__, __LINE__)

}  // namespace tunebook
