#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace tunebook::cli {

// `replay --leave-gpu-out`: leaves out each GPU in turn of the kernels that several GPUs were recorded of, and prints how good
// the configurations are that the others propose for it. Throws InputError if no kernel has two GPUs.
void run_leave_gpu_out(const std::vector<std::filesystem::path>& recordings, std::size_t trials, bool json);

}  // namespace tunebook::cli
