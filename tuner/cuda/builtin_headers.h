#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tunebook {

// Headers that kernel sources include and NVRTC does not have: name -> text. Fixed-width integers, sizes, limits, and
// empty ones for what NVRTC has built in (math functions, printf, assert, the device side of cuda_runtime.h).
// The C++ ones cover what device code uses of them; for more there is <cuda/std/...>.
const std::vector<std::pair<std::string, std::string>>& builtin_headers();

}  // namespace tunebook
