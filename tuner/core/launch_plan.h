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
  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

// Throws InputError naming kernel.json's expression if an evaluation fails or gives a negative size.
LaunchShape evaluate_launch(const Launch& launch, const KernelSpec::Scope& scope, const std::string& kernel);

// How often a launch is repeated, at most kMaxLaunches. Throws InputError likewise.
inline constexpr std::int64_t kMaxLaunches = 4096;
// Above this a buffer cannot be meant.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
std::int64_t evaluate_repeat(const Launch& launch, const KernelSpec::Scope& scope, const std::string& kernel);

// Empty if the launch is within the limits, else the reason: "block of 2048 threads, the device allows 1024".
// `static_shared_bytes` may be 0.
std::string launch_limit_violated(const LaunchShape& shape, std::int64_t static_shared_bytes, const DeviceLimits& limits);

// One __global__ function.
struct KernelName {
  std::string entry;        // "matmul"
  std::string expression;   // "matmul<float, 64, 64>"; equal to entry for macros and plain functions
  friend bool operator==(const KernelName&, const KernelName&) = default;
};

// How one configuration is instantiated.
struct Instantiation {
  std::string entry;             // of the first kernel that is launched
  std::string name_expression;
  std::vector<KernelName> others;  // further kernels of the same source, each once
  std::vector<std::pair<std::string, std::string>> defines;  // macros
  std::vector<std::string> options;  // the spec's
};
Instantiation instantiate(const KernelSpec& spec, const Problem& problem, const Configuration& configuration);

// A scalar argument's value for one launch, or a workspace's size for one configuration; `argument` is its place among all.
struct ScalarValue {
  std::int64_t argument = 0;
  std::int64_t integer = 0;  // for integer types
  double real = 0;           // for floating types
};
struct WorkspaceSize {
  std::int64_t argument = 0;
  std::int64_t count = 0;    // elements
};
// Throws InputError if the scalar's type does not have the value.
void check_fits(const KernelSpec& spec, const Argument& scalar, const Problem& problem, std::int64_t value);

// Makes `sizes` large enough for `others` too.
void enlarge(std::vector<WorkspaceSize>& sizes, const std::vector<WorkspaceSize>& others);

// What one configuration launches on one problem, in order.
struct PlannedLaunch {
  std::size_t kernel = 0;    // 0: the instantiation's first, i + 1: others[i]
  LaunchShape shape;
  std::vector<ScalarValue> scalars;  // those that differ from launch to launch or by configuration
};
struct LaunchSequence {
  std::vector<PlannedLaunch> launches;  // at least one
  std::vector<WorkspaceSize> workspaces;
};
// `scope` is bound to the problem, the device and the configuration. Throws InputError as evaluate_launch() does, and if nothing would be launched.
LaunchSequence plan_launches(const KernelSpec& spec, const Problem& problem, const Configuration& configuration, KernelSpec::Scope scope);
Instantiation instantiate_reference(const KernelSpec& spec, const Problem& problem);

}  // namespace tunebook
