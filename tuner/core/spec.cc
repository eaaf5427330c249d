#include "core/spec.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/spec_names.h"

namespace tunebook {
namespace {

std::size_t fixed_base(const KernelSpec& spec) { return spec.dimensions.size() + spec.parameters.size(); }

}  // namespace

const Dimension* KernelSpec::find_dimension(std::string_view dimension) const {
  const auto found = std::find_if(dimensions.begin(), dimensions.end(), [&](const Dimension& one) { return one.name == dimension; });
  return found == dimensions.end() ? nullptr : &*found;
}

const Parameter* KernelSpec::find_parameter(std::string_view parameter) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& one) { return one.name == parameter; });
  return found == parameters.end() ? nullptr : &*found;
}

const Configuration* KernelSpec::find_preset(std::string_view preset) const {
  const auto found = std::find_if(presets.begin(), presets.end(), [&](const auto& one) { return one.first == preset; });
  return found == presets.end() ? nullptr : &found->second;
}

std::vector<const DefaultChoice*> KernelSpec::default_choices_for(const Problem& problem,
                                                                  const Device& device) const {
  std::vector<const DefaultChoice*> applying;
  const Scope values = default_choices.size() > 1 ? scope(problem, device) : Scope();
  for (const DefaultChoice& choice : default_choices) {
    try {
      if (choice.when.empty() || choice.when.evaluate_bool(values)) applying.push_back(&choice);
    } catch (const ExpressionError&) {
      // A condition without a value does not hold: the next choice counts.
    }
  }
  return applying;
}

const Configuration& KernelSpec::default_preset(const Problem& problem,
                                                const Device& device) const {
  if (default_choices.size() == 1) return *find_preset(default_choices.front().preset);
  const auto holds = [](const Expression& expression, const Scope& values) {
    try {
      return expression.evaluate_bool(values);
    } catch (const ExpressionError&) {
      return false;
    }
  };
  for (const DefaultChoice* choice : default_choices_for(problem, device)) {
    const Configuration& preset = *find_preset(choice->preset);
    Scope values = scope(problem, device);
    bind(values, preset);
    const bool valid =
        std::all_of(constraints.begin(), constraints.end(),
                    [&](const Expression& constraint) { return holds(constraint, values); });
    if (valid && (device.kind != "cpu" || cpu.empty() || holds(cpu, values))) return preset;
  }
  return *find_preset(default_choices.back().preset);
}

Problem KernelSpec::default_problem() const {
  Problem problem;
  for (const Dimension& dimension : dimensions) problem.set(dimension.name, default_of(dimension, problem));
  return problem;
}

Value KernelSpec::default_of(const Dimension& dimension, const Problem& known) const {
  if (dimension.default_by_dtype.empty()) return dimension.default_value;
  const Dimension* dtype = find_dimension("dtype");
  const Value* given = known.find("dtype");
  const auto found = dimension.default_by_dtype.find(to_text(given != nullptr ? *given : dtype->default_value));
  return found == dimension.default_by_dtype.end() ? dimension.default_value : Value(found->second);
}

DType KernelSpec::problem_dtype(const Problem& problem) const {
  const Value* value = find_dimension("dtype") == nullptr ? nullptr : problem.find("dtype");
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? DType::f32 : parse_dtype(*text).value_or(DType::f32);
}

std::vector<Problem> KernelSpec::verify_problems(const Problem& tuned) const {
  std::vector<Problem> out;
  std::set<std::string> seen = {tuned.canonical()};
  const auto add = [&](Problem problem) {
    if (seen.insert(problem.canonical()).second) out.push_back(std::move(problem));
  };

  for (const Problem& whole : whole_verify) {
    Problem problem;
    bool applies = true;
    for (const Dimension& dimension : dimensions) {
      const Value* given = whole.find(dimension.name);
      const Value& own = tuned.at(dimension.name);
      applies = applies && (!dimension.categorical || given == nullptr || *given == own);
      problem.set(dimension.name, given != nullptr ? *given : own);
    }
    if (applies) add(std::move(problem));
  }

  std::size_t positions = 0;
  for (const Dimension& dimension : dimensions) positions = std::max(positions, dimension.verify.size());
  for (std::size_t i = 0; i < positions; ++i) {
    Problem problem;
    for (const Dimension& dimension : dimensions) {
      if (dimension.verify.empty()) problem.set(dimension.name, tuned.at(dimension.name));
      else problem.set(dimension.name, dimension.verify[std::min(i, dimension.verify.size() - 1)]);
    }
    add(std::move(problem));
  }
  return out;
}

KernelSpec::Scope KernelSpec::scope(const Problem& problem, const Device& device) const {
  using namespace spec_names;
  Scope scope(names.size());
  for (std::size_t i = 0; i < dimensions.size(); ++i) scope[i] = Scalar::from(problem.at(dimensions[i].name));
  const DeviceLimits& limits = device.limits;
  const std::size_t base = fixed_base(*this);
  scope[base + kType] = Scalar::text(dtype_name(problem_dtype(problem)));
  scope[base + kNative] = Scalar::text("native");
  scope[base + kFirstDevice] = Scalar::text(device.kind);
  scope[base + kFirstDevice + 1] = Scalar::text(device.name);
  const std::int64_t numbers[] = {device.compute_capability,   device.sm_count,
                                  limits.max_threads_per_block, limits.shared_bytes_per_block_optin,
                                  limits.shared_bytes_per_sm,   limits.registers_per_block,
                                  limits.registers_per_sm,      limits.max_threads_per_sm,
                                  limits.warp_size,             limits.l2_bytes,
                                  limits.max_blocks_per_sm,     device.memory_gib};
  static_assert(kFirstDevice + 2 + std::size(numbers) == kEps, "a value for each device name");
  for (std::size_t i = 0; i < std::size(numbers); ++i) scope[base + kFirstDevice + 2 + i] = Scalar::integer(numbers[i]);
  scope[base + kIteration] = Scalar::integer(0);
  return scope;
}

void KernelSpec::bind(Scope& scope, const Configuration& configuration) const {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    scope.at(dimensions.size() + i) = Scalar::from(configuration.at(parameters[i].name));
  }
}

void KernelSpec::bind_iteration(Scope& scope, std::int64_t iteration) const {
  scope.at(fixed_base(*this) + spec_names::kIteration) = Scalar::integer(iteration);
}

bool KernelSpec::varies(const Argument& scalar) const {
  const auto& slots = scalar.value.slots();
  return !scalar.pointer && std::any_of(slots.begin(), slots.end(), [&](int slot) {
    const auto place = static_cast<std::size_t>(slot);
    return (place >= dimensions.size() && place < fixed_base(*this)) || place == fixed_base(*this) + spec_names::kIteration;
  });
}

void KernelSpec::bind_tolerance(Scope& scope, const Problem& problem) const {
  const DType type = problem_dtype(problem);
  double scale = 1;
  for (const Argument& argument : arguments) {
    // What starts at zero is added to, it is no factor of a product.
    const bool input = argument.pointer && argument.access != Argument::Access::out && !argument.is_workspace() &&
                       argument.fill.kind != Fill::Kind::zero;
    if (input && is_floating(argument.dtype.value_or(type))) scale *= argument.fill.largest_magnitude();
  }
  const std::size_t base = fixed_base(*this);
  scope.at(base + spec_names::kEps) = Scalar::real(unit_roundoff(type));
  scope.at(base + spec_names::kScale) = Scalar::real(scale);
}

const Expression* KernelSpec::violated_constraint(const Scope& scope) const {
  for (const Expression& constraint : constraints) {
    try {
      if (!constraint.evaluate_bool(scope)) return &constraint;
    } catch (const ExpressionError& error) {
      throw InputError(fmt::format("kernel {}: constraint \"{}\", column {}: {}", name, constraint.text(), error.column, error.what()));
    }
  }
  return nullptr;
}

}  // namespace tunebook
