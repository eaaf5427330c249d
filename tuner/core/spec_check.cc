#include "core/spec_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/baseline.h"
#include "core/error.h"
#include "core/random.h"
#include "core/spec_reader.h"

namespace tunebook {
namespace {

constexpr int kRandomShapes = 1000;
constexpr std::uint64_t kRandomShapesSeed = 1;
constexpr std::uint64_t kRandomShapesMaxLog2 = 15;  // sizes below 2^15, log-uniform: small ragged ones are frequent
// So many constraints that a preset violates are enough to show that it is wrong.
constexpr std::size_t kMaxMessagesPerPreset = 5;

struct PresetFault {
  std::size_t constraint = 0;
  std::string text;
};

// Why the preset is not valid on the problem: the first constraint that it violates; nothing if it is valid.
std::optional<PresetFault> preset_fault(const KernelSpec& spec, const Configuration& preset, const Problem& problem, const Device& device) {
  KernelSpec::Scope scope = spec.scope(problem, device);
  spec.bind(scope, preset);
  for (std::size_t i = 0; i < spec.constraints.size(); ++i) {
    const std::string& text = spec.constraints[i].text();
    try {
      if (!spec.constraints[i].evaluate_bool(scope)) {
        return PresetFault{i, fmt::format("found {}, which violates /constraints/{} {} on the problem {}; expected it to hold", preset.display(), i,
                                          in_quotes(text), problem.display())};
      }
    } catch (const ExpressionError& error) {
      return PresetFault{i, fmt::format("/constraints/{} {} cannot be evaluated for {} on the problem {}: column {}: {}", i, in_quotes(text),
                                        preset.display(), problem.display(), error.column, error.what())};
    }
  }
  return std::nullopt;
}

class PresetCheck {
 public:
  PresetCheck(const KernelSpec& spec, const Device& device, std::vector<std::string>& messages) : spec_(spec), device_(device), messages_(messages) {}

  // A constraint that fails on many problems is told once. False when enough faults of this preset have been seen.
  bool add(const std::string& name, const Configuration& preset, const Problem& problem) {
    const std::optional<PresetFault> fault = preset_fault(spec_, preset, problem, device_);
    if (fault && told_.insert(fault->constraint).second) messages_.push_back(fmt::format("/presets/{}: {}", name, fault->text));
    return told_.size() < kMaxMessagesPerPreset;
  }

 private:
  const KernelSpec& spec_;
  const Device& device_;
  std::vector<std::string>& messages_;
  std::set<std::size_t> told_;  // constraints
};

// Default and verify problems in every combination of categories.
void check_default_on_declared(const KernelSpec& spec, const Configuration& preset, PresetCheck& check) {
  for (const Problem& tuned : spec.category_problems()) {
    if (!check.add("default", preset, tuned)) return;
    for (const Problem& problem : spec.verify_problems(tuned)) {
      if (!check.add("default", preset, problem)) return;
    }
  }
}

// Whether the preset is valid on the default problem or on a verify problem, for some combination of categories: a rung may be for some data
// types or shapes only.
bool valid_somewhere(const KernelSpec& spec, const Configuration& preset, const Device& device) {
  for (const Problem& tuned : spec.category_problems()) {
    if (!preset_fault(spec, preset, tuned, device)) return true;
    for (const Problem& problem : spec.verify_problems(tuned)) {
      if (!preset_fault(spec, preset, problem, device)) return true;
    }
  }
  return false;
}

void check_default_on_random(const KernelSpec& spec, const Configuration& preset, PresetCheck& check) {
  Random random(kRandomShapesSeed);
  for (int i = 0; i < kRandomShapes; ++i) {
    Problem problem;
    for (const Dimension& dimension : spec.dimensions) {
      if (dimension.categorical) {
        problem.set(dimension.name, dimension.values.at(random.below(dimension.values.size())));
      } else {
        const std::uint64_t power = std::uint64_t{1} << random.below(kRandomShapesMaxLog2);
        problem.set(dimension.name, static_cast<std::int64_t>(power + random.below(power)));
      }
    }
    if (!spec.category_excluded(problem) && !check.add("default", preset, problem)) return;
  }
}

// Evaluates every expression of a spec once, for the preset `default` on the default problem.
class EvaluationCheck {
 public:
  EvaluationCheck(const KernelSpec& spec, const Configuration& preset) : spec_(spec), problem_(spec.default_problem()) {
    scope_ = spec.scope(problem_, KernelSpec::generic_device());
    spec.bind(scope_, preset);
  }

  std::vector<std::string> run() {
    for (std::size_t i = 0; i < spec_.launches.size(); ++i) {
      const std::string path = spec_.launches.size() == 1 ? "/launch" : fmt::format("/launch/{}", i);
      integer(path + "/repeat", spec_.launches[i].repeat, 0);
      launch(path, spec_.launches[i]);
    }
    launch("/reference", spec_.reference.launch);
    for (std::size_t i = 0; i < spec_.arguments.size(); ++i) argument(fmt::format("/arguments/{}", i), spec_.arguments[i]);
    real("/work/flops", spec_.work.flops, 0);
    real("/work/bytes", spec_.work.bytes, 0);
    for (const auto& [type, tolerance] : spec_.tolerance) bounds(type, tolerance);
    attempt("/cpu", spec_.cpu, "true or false", [&](const Expression& e) { return e.evaluate_bool(scope_), true; });
    attempt("/nondeterministic", spec_.nondeterministic, "true or false", [&](const Expression& e) { return e.evaluate_bool(scope_), true; });
    attempt("/restore", spec_.restore, "true or false", [&](const Expression& e) { return e.evaluate_bool(scope_), true; });
    attempt("/arch", spec_.arch, "an architecture such as 'sm_90a'", [&](const Expression& e) { return e.evaluate(scope_).kind == Scalar::Kind::text; });
    return std::move(messages_);
  }

 private:
  template <typename Test>
  void attempt(const std::string& path, const Expression& expression, const std::string& expected, Test test) {
    if (expression.empty()) return;
    const std::string where = fmt::format("the default preset and problem {}", problem_.display());
    try {
      if (!test(expression)) messages_.push_back(fmt::format("{}: found {} for {}, expected {}", path, in_quotes(expression.text()), where, expected));
    } catch (const ExpressionError& error) {
      messages_.push_back(fmt::format("{}: found {}, expected {} for {}: column {}: {}", path, in_quotes(expression.text()), expected, where, error.column, error.what()));
    }
  }

  void integer(const std::string& path, const Expression& expression, std::int64_t least) {
    attempt(path, expression, fmt::format("an integer of at least {}", least), [&](const Expression& e) { return e.evaluate_integer(scope_) >= least; });
  }
  void real(const std::string& path, const Expression& expression, double least) {
    attempt(path, expression, fmt::format("a number{}", least == 0 ? " of at least 0" : ""), [&](const Expression& e) {
      const double value = e.evaluate_real(scope_);
      return std::isfinite(value) && value >= least;
    });
  }

  void launch(const std::string& path, const Launch& launch) {
    for (std::size_t i = 0; i < 3; ++i) {
      integer(fmt::format("{}/block/{}", path, i), launch.block[i], 1);
      integer(fmt::format("{}/grid/{}", path, i), launch.grid[i], 1);
    }
    integer(path + "/shared_bytes", launch.shared_bytes, 0);
    integer(path + "/static_shared_bytes", launch.static_shared_bytes, 0);
  }

  void argument(const std::string& path, const Argument& argument) {
    integer(path + "/count", argument.count, 1);
    if (is_floating(argument.dtype.value_or(spec_.problem_dtype(problem_)))) real(path + "/value", argument.value, -std::numeric_limits<double>::max());
    else integer(path + "/value", argument.value, std::numeric_limits<std::int64_t>::min());
  }

  void bounds(DType type, const Tolerance& tolerance) {
    Problem problem = problem_;
    const Dimension* dimension = spec_.find_dimension("dtype");
    if (dimension != nullptr && dimension->categorical) {
      for (const std::string& value : dimension->values) if (value == dtype_name(type)) problem.set("dtype", value);
    }
    KernelSpec::Scope scope = spec_.scope(problem, KernelSpec::generic_device());
    spec_.bind_tolerance(scope, problem);
    std::swap(scope, scope_);
    real(fmt::format("/tolerance/{}/rel", dtype_name(type)), tolerance.rel, 0);
    real(fmt::format("/tolerance/{}/abs", dtype_name(type)), tolerance.abs, 0);
    std::swap(scope, scope_);
  }

  const KernelSpec& spec_;
  Problem problem_;
  KernelSpec::Scope scope_;
  std::vector<std::string> messages_;
};

// Conditions of the default's choices give a truth value on the default problem, in every
// combination of categories. One fault of each is told.
void check_choices(const KernelSpec& spec, const Device& device,
                   std::vector<std::string>& messages) {
  for (std::size_t i = 0; i < spec.default_choices.size(); ++i) {
    const Expression& when = spec.default_choices[i].when;
    if (when.empty()) continue;
    for (const Problem& problem : spec.category_problems()) {
      try {
        when.evaluate_bool(spec.scope(problem, device));
      } catch (const ExpressionError& error) {
        messages.push_back(
            fmt::format("/presets/default/{}/when: found {}, expected true or false for the "
                        "problem {}: column {}: {}",
                        i, in_quotes(when.text()), problem.display(), error.column, error.what()));
        break;
      }
    }
  }
}

// One fault is told, not one for each data type.
void check_baseline(const KernelSpec& spec, const Device& device, std::vector<std::string>& messages) {
  try {
    for (const Problem& problem : spec.category_problems()) evaluate_baseline(spec, problem, device);
  } catch (const InputError& error) {
    messages.emplace_back(error.what());
  }
}

}  // namespace

std::vector<std::string> check_default_preset(const KernelSpec& spec) {
  const Configuration& preset = *spec.find_preset("default");
  std::vector<std::string> messages = EvaluationCheck(spec, preset).run();
  const Device device = KernelSpec::generic_device();
  PresetCheck check(spec, device, messages);
  check_default_on_declared(spec, preset, check);
  check_choices(spec, device, messages);
  check_baseline(spec, device, messages);
  return messages;
}

bool KernelSpec::category_excluded(const Problem& problem) const {
  const Scope values = scope(problem, generic_device());
  const auto is_category = [&](int slot) {
    const auto place = static_cast<std::size_t>(slot);
    return place < dimensions.size() ? dimensions[place].categorical : names.at(slot) == "T";
  };
  return std::any_of(constraints.begin(), constraints.end(), [&](const Expression& constraint) {
    if (!std::all_of(constraint.slots().begin(), constraint.slots().end(), is_category)) return false;
    try {
      return !constraint.evaluate_bool(values);
    } catch (const ExpressionError&) {
      return false;  // told where the constraint is used
    }
  });
}

std::vector<Problem> KernelSpec::category_problems() const {
  std::vector<Problem> all = {default_problem()};
  for (const Dimension& dimension : dimensions) {
    if (!dimension.categorical) continue;
    const std::size_t before = all.size();
    for (const std::string& value : dimension.values) {
      if (Value(value) == all.front().at(dimension.name)) continue;
      // Some of these will be left out: no kernel has so many that matter, and a product of many must not explode.
      for (std::size_t i = 0; i < before && all.size() < 4 * kMaxCombinations; ++i) {
        Problem other = all[i];
        other.set(dimension.name, value);
        all.push_back(std::move(other));
      }
    }
  }
  std::erase_if(all, [&](const Problem& problem) { return category_excluded(problem); });
  if (all.size() > kMaxCombinations) all.resize(kMaxCombinations);
  return all;
}

std::vector<std::string> KernelSpec::check_presets(const Device& device) const {
  std::vector<std::string> messages;
  for (const auto& [preset_name, preset] : presets) {
    PresetCheck check(*this, device, messages);
    if (preset_name == "default") {
      check_default_on_declared(*this, preset, check);
    } else {
      if (!valid_somewhere(*this, preset, device)) check.add(preset_name, preset, default_problem());
    }
  }
  return messages;
}

std::vector<std::string> KernelSpec::check_default_on_random_shapes(const Device& device) const {
  std::vector<std::string> messages;
  PresetCheck check(*this, device, messages);
  check_default_on_random(*this, *find_preset("default"), check);
  return messages;
}

Device KernelSpec::generic_device() {
  Device device;
  device.kind = "cuda";
  device.name = "generic";
  device.compute_capability = 80;
  device.sm_count = 40;
  device.memory_gib = 16;
  // Of compute capabilities 8.x to 12.x, 8.6 has the least of each.
  device.limits.shared_bytes_per_block_optin = 101376;
  device.limits.shared_bytes_per_sm = 102400;
  device.limits.reserved_shared_bytes_per_block = 1024;
  device.limits.max_threads_per_sm = 1536;
  device.limits.max_blocks_per_sm = 16;
  device.limits.l2_bytes = std::int64_t{4} << 20;
  return device;
}

}  // namespace tunebook
