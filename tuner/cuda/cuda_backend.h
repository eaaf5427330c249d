#pragma once

#include <memory>
#include <string>

#include "worker/worker_main.h"

namespace tunebook {

// Compiles CUDA C++ to cubins with NVRTC. Needs neither a GPU nor a driver. NVRTC is opened when this is made; if it is not
// there, or the cache is refused, hello().error says so.
std::unique_ptr<CompilerBackend> make_cuda_compiler();
// The same for a process that is not ours: its environment is left as it is.
std::unique_ptr<CompilerBackend> make_cuda_compiler_in_application();

// Runs kernels on one GPU. `device`: "cuda:N" (or "cuda": 0). The device is opened when this is made; if that is not possible,
// hello().error says why. After a reply whose outcome poisons_worker(), the GPU cannot be used by this process any more: every
// further request throws EnvironmentError.
std::unique_ptr<RunnerBackend> make_cuda_runner(const std::string& device);

}  // namespace tunebook
