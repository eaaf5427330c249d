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

std::int64_t evaluate_repeat(const Launch& launch, const KernelSpec::Scope& scope, const std::string& kernel) {
  if (launch.repeat.empty()) return 1;
  const std::int64_t repeat = evaluate(launch.repeat, scope, 0, "launch/repeat", kernel);
  if (repeat <= kMaxLaunches) return repeat;
  throw InputError(fmt::format("kernel {}: launch/repeat \"{}\" gives {}, expected at most {}", kernel, launch.repeat.text(), repeat, kMaxLaunches));
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

namespace {

KernelName kernel_name(const KernelSpec& spec, const Launch& launch, const Problem& problem, const Configuration& configuration) {
  std::vector<std::string> arguments;
  for (const std::string& name : launch.instantiate) arguments.push_back(render(spec, problem, configuration, name));
  return {launch.entry, with_arguments(launch.entry, arguments)};
}

// Whether some problem has this launch. Code must not depend on the sizes, or each problem would compile the same kernels anew.
bool may_be_launched(const KernelSpec& spec, const Launch& launch, const Problem& problem, const Configuration& configuration) {
  const auto& slots = launch.repeat.empty() ? std::vector<int>() : launch.repeat.slots();
  const auto is_parameter = [&](int slot) {
    const auto place = static_cast<std::size_t>(slot);
    return place >= spec.dimensions.size() && place < spec.dimensions.size() + spec.parameters.size();
  };
  if (launch.repeat.empty() || !std::all_of(slots.begin(), slots.end(), is_parameter)) return true;
  KernelSpec::Scope scope = spec.scope(problem, KernelSpec::generic_device());
  spec.bind(scope, configuration);
  return evaluate_repeat(launch, scope, spec.name) > 0;
}

}  // namespace

Instantiation instantiate(const KernelSpec& spec, const Problem& problem, const Configuration& configuration) {
  Instantiation out;
  out.options = spec.options;
  for (const Launch& launch : spec.launches) {
    if (!may_be_launched(spec, launch, problem, configuration)) continue;
    const KernelName name = kernel_name(spec, launch, problem, configuration);
    if (out.entry.empty()) {
      out.entry = name.entry;
      out.name_expression = name.expression;
    } else if (name != KernelName{out.entry, out.name_expression} &&
               std::find(out.others.begin(), out.others.end(), name) == out.others.end()) {
      out.others.push_back(name);
    }
  }
  if (out.entry.empty()) {
    throw InputError(fmt::format("kernel {}: no kernel is launched: each /launch/.../repeat is 0 for {}", spec.name, configuration.display()));
  }
  if (spec.macros) {
    for (const Parameter& parameter : spec.parameters) out.defines.emplace_back(parameter.name, render(configuration.at(parameter.name), parameter.is_type));
    for (const std::string& name : spec.define) out.defines.emplace_back(name, render(spec, problem, configuration, name));
  }
  return out;
}

void check_fits(const KernelSpec& spec, const Argument& scalar, const Problem& problem, std::int64_t value) {
  const DType type = scalar.dtype.value_or(spec.problem_dtype(problem));
  if (integer_fits(type, value)) return;
  throw InputError(fmt::format("kernel {}: /arguments '{}'/value: `{}` gives {} for {}, which {} cannot hold", spec.name, scalar.name, scalar.value.text(),
                               value, problem.display(), dtype_name(type)));
}

void enlarge(std::vector<WorkspaceSize>& sizes, const std::vector<WorkspaceSize>& others) {
  for (const WorkspaceSize& other : others) {
    const auto known = std::find_if(sizes.begin(), sizes.end(), [&](const WorkspaceSize& one) { return one.argument == other.argument; });
    if (known == sizes.end()) sizes.push_back(other);
    else known->count = std::max(known->count, other.count);
  }
}

LaunchSequence plan_launches(const KernelSpec& spec, const Problem& problem, const Configuration& configuration, KernelSpec::Scope scope) {
  const Instantiation instantiation = instantiate(spec, problem, configuration);
  const auto evaluation = [&](const Argument& argument, const Expression& expression, auto evaluate_one) {
    try {
      return evaluate_one(expression);
    } catch (const ExpressionError& error) {
      throw InputError(fmt::format("kernel {}: /arguments '{}' \"{}\", column {}: {}", spec.name, argument.name, expression.text(), error.column, error.what()));
    }
  };

  LaunchSequence sequence;
  for (const Launch& launch : spec.launches) {
    const std::int64_t repeat = evaluate_repeat(launch, scope, spec.name);
    if (repeat == 0) continue;
    if (std::cmp_greater(sequence.launches.size() + static_cast<std::size_t>(repeat), kMaxLaunches)) {
      throw InputError(fmt::format("kernel {}: more than {} launches for {}", spec.name, kMaxLaunches, problem.display()));
    }
    PlannedLaunch planned;
    const KernelName name = kernel_name(spec, launch, problem, configuration);
    const auto other = std::find(instantiation.others.begin(), instantiation.others.end(), name);
    if (other != instantiation.others.end()) planned.kernel = static_cast<std::size_t>(other - instantiation.others.begin()) + 1;
    for (std::int64_t iteration = 0; iteration < repeat; ++iteration) {
      spec.bind_iteration(scope, iteration);
      planned.shape = evaluate_launch(launch, scope, spec.name);
      planned.scalars.clear();
      for (std::size_t i = 0; i < spec.arguments.size(); ++i) {
        const Argument& argument = spec.arguments[i];
        if (!spec.varies(argument)) continue;
        ScalarValue value{static_cast<std::int64_t>(i)};
        if (is_floating(argument.dtype.value_or(spec.problem_dtype(problem)))) {
          value.real = evaluation(argument, argument.value, [&](const Expression& e) { return e.evaluate_real(scope); });
        } else {
          value.integer = evaluation(argument, argument.value, [&](const Expression& e) { return e.evaluate_integer(scope); });
          check_fits(spec, argument, problem, value.integer);
        }
        planned.scalars.push_back(value);
      }
      sequence.launches.push_back(planned);
    }
  }
  if (sequence.launches.empty()) {
    throw InputError(fmt::format("kernel {}: no kernel is launched: each /launch/.../repeat is 0 for {} of {}", spec.name, configuration.display(), problem.display()));
  }
  spec.bind_iteration(scope, 0);
  for (std::size_t i = 0; i < spec.arguments.size(); ++i) {
    const Argument& argument = spec.arguments[i];
    if (!argument.is_workspace()) continue;
    const std::int64_t count = evaluation(argument, argument.count, [&](const Expression& e) { return e.evaluate_integer(scope); });
    if (count < 0 || count > kMaxElements) {
      throw InputError(fmt::format("kernel {}: /arguments '{}'/count \"{}\" gives {} elements for {}", spec.name, argument.name, argument.count.text(), count, problem.display()));
    }
    sequence.workspaces.push_back({static_cast<std::int64_t>(i), count});
  }
  return sequence;
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
