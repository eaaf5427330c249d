#include "launch/kernel_choice.h"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "db/lookup_check.h"

namespace tunebook {
namespace {

Configuration to_configuration(const LookupValues& values) {
  Configuration configuration;
  for (const auto& [name, value] : values) configuration.set(name, value);
  return configuration;
}

// Of a configuration that was checked: `arch` gives a text that runs on the device.
std::string architecture_of(const KernelSpec& spec, const KernelSpec::Scope& scope, const std::string& native_arch) {
  if (spec.arch.empty()) return native_arch;
  const Scalar arch = spec.arch.evaluate(scope);
  return *arch.s == "native" ? native_arch : *arch.s;
}

LaunchPlan plan_of(const KernelTemplate& kernel, const Problem& problem, const Configuration& configuration, const Device& device,
                   const std::string& native_arch) {
  const KernelSpec& spec = kernel.spec;
  KernelSpec::Scope scope = spec.scope(problem, device);
  spec.bind(scope, configuration);
  LaunchPlan plan;
  plan.instantiation = instantiate(spec, problem, configuration);
  plan.launches = plan_launches(spec, problem, configuration, scope);
  CompiledKernel& about = plan.about;
  about.kernel = spec.name;
  about.problem = problem.items();
  for (const Parameter& parameter : spec.parameters) about.configuration.emplace_back(parameter.name, configuration.at(parameter.name));
  about.architecture = architecture_of(spec, scope, native_arch);
  about.name_expression = plan.instantiation.name_expression;
  return plan;
}

}  // namespace

std::optional<LaunchPlan> plan_answer(const KernelTemplate& kernel, const Problem& problem, const Device& device,
                                      const std::string& native_arch, const std::shared_ptr<const Answer>& answer, std::string& obstacle) {
  const Configuration configuration = to_configuration(answer->configuration);
  const Verdict verdict = check_candidate(kernel.spec, problem, configuration, device, {});
  if (!verdict.usable()) {
    obstacle = verdict.reason;
    return std::nullopt;
  }
  LaunchPlan plan = plan_of(kernel, problem, configuration, device, native_arch);
  plan.about.tier = answer->tier;
  plan.about.distance = answer->distance;
  plan.about.stale = answer->stale;
  plan.about.answer = answer;
  if (answer->stale == Stale::yes) {
    add_note(plan.about.note, "the template has changed since this configuration was tuned: tune it again");
  }
  return plan;
}

bool is_callers(const KernelSpec& spec, const Argument& argument) { return !argument.is_workspace() && !spec.varies(argument); }

LaunchRecipe recipe_of(const KernelSpec& spec, const Problem& problem, const LaunchPlan& plan, const std::vector<std::string>& symbols) {
  LaunchRecipe recipe;
  recipe.arguments = spec.arguments.size();
  for (std::size_t i = 0; i < spec.arguments.size(); ++i) {
    if (is_callers(spec, spec.arguments[i])) recipe.given.push_back(i);
  }
  const auto dtype_of = [&](std::size_t i) { return spec.arguments.at(i).dtype.value_or(spec.problem_dtype(problem)); };
  for (const WorkspaceSize& size : plan.launches.workspaces) {
    const auto place = static_cast<std::size_t>(size.argument);
    recipe.workspaces.push_back({place, static_cast<std::size_t>(size.count) * dtype_size(dtype_of(place)),
                                 spec.arguments[place].fill.kind == Fill::Kind::zero});
  }
  for (const PlannedLaunch& launch : plan.launches.launches) {
    LaunchRecipe::Step step{symbols.at(launch.kernel), launch.shape, {}};
    for (const ScalarValue& value : launch.scalars) {
      LaunchRecipe::OwnScalar scalar{static_cast<std::size_t>(value.argument), {}};
      store_scalar(dtype_of(scalar.argument), value.integer, value.real, scalar.bytes.data());
      step.scalars.push_back(scalar);
    }
    recipe.steps.push_back(std::move(step));
  }
  return recipe;
}

std::string printable(std::string text) {
  for (char& c : text) {
    const auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && c != '\n') || code == 0x7f) c = ' ';
  }
  return text;
}

void add_note(std::string& note, const std::string& line) {
  if (!note.empty()) note += '\n';
  note += printable(line);
}

KernelChoice choose(const KernelTemplate& kernel, const Problem& problem, const Device& device, const std::string& native_arch,
                    std::shared_ptr<const Answer> answer) {
  KernelChoice choice;
  std::string refused;
  // The book may have a preset of an older declaration: the template's own is meant.
  if (answer != nullptr && answer->tier != Tier::preset_default) {
    std::string obstacle;
    choice.best = plan_answer(kernel, problem, device, native_arch, answer, obstacle);
    if (!choice.best) {
      add_note(refused, fmt::format("the book's configuration (match: {}) is not used: {}; the preset default runs instead", tier_name(answer->tier),
                                    obstacle));
      if (answer->stale == Stale::yes) add_note(refused, "the template has changed since it was tuned: tune it again");
    }
  }
  // Of the default's choices the first that can run here; the last one says why if none can.
  const Configuration* chosen = nullptr;
  Verdict verdict;
  for (const DefaultChoice* one : kernel.spec.default_choices_for(problem, device)) {
    chosen = kernel.spec.find_preset(one->preset);
    verdict = check_candidate(kernel.spec, problem, *chosen, device, {});
    if (verdict.usable()) break;
  }
  const Configuration& preset = *chosen;
  if (verdict.usable()) {
    choice.fallback = plan_of(kernel, problem, preset, device, native_arch);
    choice.fallback->about.stale = Stale::no;
    choice.fallback->about.answer = std::move(answer);
    choice.fallback->about.note = refused;
  } else {
    choice.fallback_obstacle = fmt::format("the preset default cannot run {} of {}: {}", problem.display(), kernel.spec.name, verdict.reason);
    if (!choice.best) {
      throw std::invalid_argument(printable(choice.fallback_obstacle + (refused.empty() ? "" : "; " + refused)));
    }
  }
  return choice;
}

}  // namespace tunebook
