#include "core/launch_plan.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace tunebook {
namespace {

std::int64_t evaluate(const Expression& expression, const KernelSpec::Scope& scope, std::int64_t least, std::string_view what, const std::string& kernel) {
  std::int64_t value = 0;
  try {
    value = expression.evaluate_integer(scope);
  } catch (const ExpressionError& error) {
    throw InputError(fmt::format("kernel {}: {} \"{}\", column {}: {}", kernel, what, expression.text(), error.column, error.what()));
  }
  if (value < least) throw InputError(fmt::format("kernel {}: {} \"{}\" gives {}, expected at least {}", kernel, what, expression.text(), value, least));
  return value;
}

constexpr std::string_view kAxes[] = {"x", "y", "z"};

std::string extent_violated(std::string_view what, const std::array<std::int64_t, 3>& extents, const std::array<std::int64_t, 3>& limits) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (extents[i] < 1) return fmt::format("{} of {} in {}, which must be at least 1", what, extents[i], kAxes[i]);
    if (extents[i] > limits[i]) return fmt::format("{} of {} in {}, the device allows {}", what, extents[i], kAxes[i], limits[i]);
  }
  return "";
}

// A value as C++ source: a template argument or the text of a macro.
std::string render(const Value& value, bool is_type) {
  const std::string text = to_text(value);
  if (!is_type) return text;
  const auto type = parse_dtype(text);
  return type ? std::string(cuda_type_name(*type)) : text;
}

// "T", a dimension or a parameter.
std::string render(const KernelSpec& spec, const Problem& problem, const Configuration& configuration, const std::string& name) {
  if (name == "T") return std::string(cuda_type_name(spec.problem_dtype(problem)));
  if (const Parameter* parameter = spec.find_parameter(name)) return render(configuration.at(name), parameter->is_type);
  return render(problem.at(name), name == "dtype");
}

std::string with_arguments(const std::string& entry, const std::vector<std::string>& arguments) {
  return arguments.empty() ? entry : fmt::format("{}<{}>", entry, fmt::join(arguments, ", "));
}

}  // namespace

LaunchShape evaluate_launch(const Launch& launch, const KernelSpec::Scope& scope, const std::string& kernel) {
  LaunchShape shape;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!launch.block[i].empty()) shape.block[i] = evaluate(launch.block[i], scope, 0, fmt::format("launch/block/{}", i), kernel);
    if (!launch.grid[i].empty()) shape.grid[i] = evaluate(launch.grid[i], scope, 0, fmt::format("launch/grid/{}", i), kernel);
  }
  if (!launch.shared_bytes.empty()) shape.shared_bytes = evaluate(launch.shared_bytes, scope, 0, "launch/shared_bytes", kernel);
  return shape;
}

std::string launch_limit_violated(const LaunchShape& shape, std::int64_t static_shared_bytes, const DeviceLimits& limits) {
  // Extents first: with each within its limit the product of threads cannot overflow.
  if (std::string violated = extent_violated("block", shape.block, limits.max_block); !violated.empty()) return violated;
  if (shape.threads() > limits.max_threads_per_block) {
    return fmt::format("block of {} threads, the device allows {}", shape.threads(), limits.max_threads_per_block);
  }
  if (std::string violated = extent_violated("grid", shape.grid, limits.max_grid); !violated.empty()) return violated;
  if (static_shared_bytes > limits.shared_bytes_per_block) {
    // Only dynamic shared memory can go beyond this, by opting in.
    return fmt::format("{} bytes of static shared memory per block, the device allows {}", static_shared_bytes,
                       limits.shared_bytes_per_block);
  }
  const std::int64_t most = limits.shared_bytes_per_block_optin;
  if (shape.shared_bytes > most || static_shared_bytes > most - shape.shared_bytes) {
    if (static_shared_bytes <= 0) return fmt::format("{} bytes of shared memory per block, the device allows {}", shape.shared_bytes, most);
    return fmt::format("{} bytes of shared memory per block ({} dynamic, {} static), the device allows {}",
                       static_cast<std::uint64_t>(shape.shared_bytes) + static_cast<std::uint64_t>(static_shared_bytes), shape.shared_bytes,
                       static_shared_bytes, most);
  }
  return "";
}

Instantiation instantiate(const KernelSpec& spec, const Problem& problem, const Configuration& configuration) {
  Instantiation out;
  out.entry = spec.entry;
  out.options = spec.options;
  if (spec.macros) {
    for (const Parameter& parameter : spec.parameters) out.defines.emplace_back(parameter.name, render(configuration.at(parameter.name), parameter.is_type));
    for (const std::string& name : spec.define) out.defines.emplace_back(name, render(spec, problem, configuration, name));
    out.name_expression = spec.entry;
    return out;
  }
  std::vector<std::string> arguments;
  for (const std::string& name : spec.instantiate) arguments.push_back(render(spec, problem, configuration, name));
  out.name_expression = with_arguments(spec.entry, arguments);
  return out;
}

Instantiation instantiate_reference(const KernelSpec& spec, const Problem& problem) {
  Instantiation out;
  out.entry = spec.reference.entry;
  out.options = spec.options;
  std::vector<std::string> arguments;
  if (spec.reference.instantiate_type) arguments.push_back(render(spec, problem, {}, "T"));
  // A reference in macro style needs what does not depend on the configuration, above all T.
  for (const std::string& name : spec.define) out.defines.emplace_back(name, render(spec, problem, {}, name));
  out.name_expression = with_arguments(out.entry, arguments);
  return out;
}

}  // namespace tunebook
