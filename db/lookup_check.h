#pragma once

#include <string>

#include "core/device.h"
#include "core/problem.h"
#include "core/spec.h"
#include "db/lookup_limits.h"
#include "tunebook/lookup.h"

namespace tunebook {

// Whether a candidate may be given, and if not, why.
struct Verdict {
  Obstacle obstacle = Obstacle::none;
  std::string reason;
  bool usable() const { return obstacle == Obstacle::none; }
};

// Whether the configuration is valid for the problem on the device: declared values, constraints, the cpu's own condition, the
// architecture that its code is for, the launch and a block within the limits. What cannot be evaluated is not usable.
Verdict check_candidate(const KernelSpec& spec, const Problem& problem, const Configuration& configuration, const Device& device,
                        BlockNeeds needs);

// Empty if code compiled for `arch` ("sm_80", "sm_90a", "sm_100f", "native") runs on a GPU of this compute capability, else the
// reason. Plain code runs on its own and later minor versions of its major version; `f`: the same family, by the same rule; `a`: on
// this very architecture only.
std::string architecture_violated(const std::string& arch, int compute_capability);

}  // namespace tunebook
