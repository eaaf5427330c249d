#pragma once

#include <vector>

#include <cuda_runtime_api.h>

#include "core/ceiling.h"
#include "cuda/sampler.h"
#include "worker/message.h"
#include "worker/worker_main.h"

namespace tunebook {

// Measures the ceilings of the current device with the sampler that times candidates, so that both are of one method. Of each size the
// fastest of several ways to move the bytes counts, with its median; of an arithmetic unit the best of several repetitions. Intervals
// are those of the median. Sizes for which there is no memory are left out. Takes a few seconds. Throws CudaError.
std::vector<Ceiling> measure_ceilings(const CalibrateRequest& request, Sampler& sampler, cudaStream_t stream, const StageCallback& stage);

}  // namespace tunebook
