#pragma once

#include <cstddef>
#include <vector>

#include "core/spec.h"

namespace tunebook {

// The nearest of `problems` with the same categories as `asked`; none: the nearest by sizes. Of
// equals the first. `problems` is not empty.
std::size_t nearest_problem(const KernelSpec& spec, const std::vector<Problem>& problems,
                            const Problem& asked);

// Shapes such as somebody might ask for where `problems` were tuned: categories of one of them,
// sizes log-uniform between the least and the largest (of a size with few values: one of these), in
// three of five shapes multiples of 8. The same for each call.
std::vector<Problem> imagined_problems(const KernelSpec& spec, const std::vector<Problem>& problems,
                                       std::size_t count);

}  // namespace tunebook
