#include "cuda/cuda_error.h"

#include <cstdio>

#include <fmt/format.h>

namespace tunebook {

namespace {

Outcome classify(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation: return Outcome::out_of_memory;
    case cudaErrorLaunchOutOfResources:
    case cudaErrorInvalidConfiguration:
    case cudaErrorCooperativeLaunchTooLarge: return Outcome::no_resources;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorSymbolNotFound:
    case cudaErrorInvalidKernelImage:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorSharedObjectInitFailed:
    case cudaErrorInvalidSource:
    case cudaErrorFileNotFound:
    case cudaErrorNotSupported:
    case cudaErrorNotPermitted: return Outcome::launch_error;
    default: return Outcome::fault;
  }
}

}  // namespace

CudaError::CudaError(cudaError_t code, const std::string& during)
    : std::runtime_error(fmt::format("{}: {} (in {})", cudaGetErrorName(code), cudaGetErrorString(code), during)), code_(code) {}

Outcome CudaError::outcome() const { return classify(code_); }

void check_cuda(cudaError_t code, const char* during) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // an error that is not sticky must not show up again in a later call
  throw CudaError(code, during);
}

void report_cuda(cudaError_t code, const char* call, const char* file, int line) noexcept {
  if (code == cudaSuccess || classify(code) == Outcome::fault) return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorName(code));
}

}  // namespace tunebook
