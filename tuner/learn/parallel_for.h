#pragma once

#include <cstddef>
#include <functional>

namespace tunebook::learn {

// Calls body(0) to body(count - 1), each once, from up to `threads` threads, and returns when all
// are done. The first exception (by index) is thrown again here; calls that have not begun by then
// are left out.
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& body);

}  // namespace tunebook::learn
