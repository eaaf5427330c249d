#pragma once

#include <cstdint>

namespace tunebook::testing {

// How often this program has called operator new, libraries included.
std::int64_t allocation_count();

}  // namespace tunebook::testing
