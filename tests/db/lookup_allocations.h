#pragma once

#include <cstddef>

namespace tunebook::testing {

// How often the calling thread has called operator new; every allocation of the test program is counted.
std::size_t allocations_of_this_thread();

}  // namespace tunebook::testing
