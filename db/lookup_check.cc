#include "db/lookup_check.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/launch_plan.h"

namespace tunebook {
namespace {

std::string architecture_obstacle(const KernelSpec& spec, const KernelSpec::Scope& scope, const Device& device) {
  if (spec.arch.empty() || device.kind != "cuda") {
    return "";
  }
  const Scalar arch = spec.arch.evaluate(scope);
  return arch.kind == Scalar::Kind::text ? architecture_violated(*arch.s, device.compute_capability)
                                         : fmt::format("arch `{}` gives no text", spec.arch.text());
}

// With everything that may throw.
Verdict check(const KernelSpec& spec, const Problem& problem, const Configuration& configuration, const Device& device,
              BlockNeeds needs) {
  KernelSpec::Scope scope = spec.scope(problem, device);
  spec.bind(scope, configuration);
  if (const Expression* const violated = spec.violated_constraint(scope)) {
    return {Obstacle::constraint, fmt::format("constraint \"{}\" does not hold", violated->text())};
  }
  if (device.kind == "cpu" && !spec.cpu.empty() && !spec.cpu.evaluate_bool(scope)) {
    return {Obstacle::device_kind, fmt::format("the cpu does not run it: \"{}\" does not hold", spec.cpu.text())};
  }
  if (std::string violated = architecture_obstacle(spec, scope, device); !violated.empty()) {
    return {Obstacle::architecture, std::move(violated)};
  }
  for (const Launch& launch : spec.launches) {
    if (evaluate_repeat(launch, scope, spec.name) == 0) continue;
    const LaunchShape shape = evaluate_launch(launch, scope, spec.name);
    const Expression& fixed = launch.static_shared_bytes;
    const std::int64_t static_bytes = fixed.empty() ? 0 : std::max<std::int64_t>(fixed.evaluate_integer(scope), 0);
    if (std::string violated = launch_limit_violated(shape, static_bytes, device.limits); !violated.empty()) {
      return {Obstacle::limit, std::move(violated)};
    }
    needs.threads = std::max(needs.threads.value_or(0), shape.threads());
    needs.shared_bytes = std::max(needs.shared_bytes.value_or(0), shape.shared_bytes);
  }
  // What was recorded is the most that any kernel of the configuration needs: several kernels were run together, so each has its place.
  if (spec.launches.size() > 1) needs.registers_per_thread.reset();
  if (std::string violated = block_limit_violated(needs, device.limits); !violated.empty()) {
    return {Obstacle::limit, std::move(violated)};
  }
  return {};
}

}  // namespace

std::string architecture_violated(const std::string& arch, int compute_capability) {
  constexpr std::string_view kPrefix = "sm_";
  if (arch == "native") {
    return "";
  }
  int version = 0;
  const char* const begin = arch.data() + std::min(kPrefix.size(), arch.size());
  const auto [end, error] = std::from_chars(begin, arch.data() + arch.size(), version);
  const std::string_view suffix(end, static_cast<std::size_t>(arch.data() + arch.size() - end));
  if (!arch.starts_with(kPrefix) || error != std::errc() || (suffix != "" && suffix != "a" && suffix != "f")) {
    return fmt::format("its code is for '{}', which is not known here", arch);
  }
  const bool runs = suffix == "a" ? version == compute_capability
                                  : version / 10 == compute_capability / 10 && version <= compute_capability;
  if (runs) {
    return "";
  }
  return compute_capability == 0 ? fmt::format("its code is for {} only, and the device's architecture is not known", arch)
                                 : fmt::format("its code is for {} only, the device is sm_{}", arch, compute_capability);
}

Verdict check_candidate(const KernelSpec& spec, const Problem& problem, const Configuration& configuration, const Device& device,
                        BlockNeeds needs) {
  try {
    spec.check_configuration(configuration, "its configuration");
  } catch (const InputError& error) {
    return {Obstacle::undeclared_value, error.what()};
  }
  try {
    return check(spec, problem, configuration, device, needs);
  } catch (const InputError& error) {
    return {Obstacle::constraint, error.what()};
  } catch (const ExpressionError& error) {
    return {Obstacle::constraint, error.what()};
  }
}

}  // namespace tunebook
