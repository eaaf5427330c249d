#pragma once

#include <cuda_runtime_api.h>

namespace tunebook {

// Queues a kernel that does nothing: its time is what a launch costs. Launch errors are in the caller's next check.
void queue_empty(cudaStream_t stream);

}  // namespace tunebook
