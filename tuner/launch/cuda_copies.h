#pragma once

#include <memory>

#include "launch/launch_copies.h"

struct CUstream_st;

namespace tunebook {

// Copies of the buffers behind `addresses` (of the arguments of `plan`), made in the order of `stream` on the current
// device, which must be `ordinal`. What is timed on them is launched on a stream of their own. Null if the stream is
// being captured in a graph. Throws std::invalid_argument if a buffer is null, or if two of them overlap of which one is
// written; CandidateFailed if memory is short; LaunchError.
std::unique_ptr<LaunchCopies> copy_on_device(int ordinal, const CopyPlan& plan, void** addresses, CUstream_st* stream);

}  // namespace tunebook
