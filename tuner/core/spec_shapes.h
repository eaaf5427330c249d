#pragma once

#include <vector>

#include "core/spec.h"

namespace tunebook {

// Small problems on which a kernel should be right, in the categories of `categories`: every size from 1 to kEverySize in each dimension with
// the others small, then `random` shapes of up to some hundreds in each dimension, half of the sizes multiples of 8. Dimensions that the code is
// instantiated with keep their value. Shapes that would take a reference too long are left out, and so are repetitions: what is returned may be
// fewer. The same for each call.
inline constexpr std::int64_t kEverySize = 33;
std::vector<Problem> sweep_shapes(const KernelSpec& spec, const Problem& categories, int random);

}  // namespace tunebook
