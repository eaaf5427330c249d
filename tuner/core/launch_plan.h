#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/spec.h"

namespace tunebook {

// Numbers for one launch, evaluated from the spec: what a worker gets (workers know no expressions).
struct LaunchShape {
  std::array<std::int64_t, 3> grid = {1, 1, 1};
  std::array<std::int64_t, 3> block = {1, 1, 1};
  std::int64_t shared_bytes = 0;
  std::int64_t threads() const { return block[0] * block[1] * block[2]; }
};

// Throws InputError naming kernel.json's expression if an evaluation fails or gives a negative size.
LaunchShape evaluate_launch(const Launch& launch, const KernelSpec::Scope& scope, const std::string& kernel);

// Empty if the launch is within the limits, else the reason: "block of 2048 threads, the device allows 1024".
// `static_shared_bytes` may be 0.
std::string launch_limit_violated(const LaunchShape& shape, std::int64_t static_shared_bytes, const DeviceLimits& limits);

// How one configuration is instantiated.
struct Instantiation {
  std::string entry;             // "matmul"
  std::string name_expression;   // "matmul<float, 64, 64>"; equal to entry for macros and plain functions
  std::vector<std::pair<std::string, std::string>> defines;  // macros
  std::vector<std::string> options;  // the spec's
};
Instantiation instantiate(const KernelSpec& spec, const Problem& problem, const Configuration& configuration);
Instantiation instantiate_reference(const KernelSpec& spec, const Problem& problem);

}  // namespace tunebook
