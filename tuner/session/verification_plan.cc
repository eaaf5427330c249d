#include "session/verification_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"

namespace tunebook {
namespace {

std::string place(const KernelSpec& spec, const Argument& argument, const char* field) {
  return fmt::format("kernel {}: /arguments '{}'/{}", spec.name, argument.name, field);
}

std::uint64_t argument_seed(std::uint64_t seed, const Problem& problem, const std::string& argument) {
  const std::string hash = HashBuilder().add(std::to_string(seed)).add(problem.canonical()).add(argument).hex();
  return std::stoull(hash.substr(0, 16), nullptr, 16);
}

}  // namespace

VerificationPlan::VerificationPlan(const KernelTemplate& kernel, const Problem& tuned, const Device& device, std::uint64_t seed)
    : kernel_(kernel), device_(device) {
  has_inout_ = std::any_of(kernel.spec.arguments.begin(), kernel.spec.arguments.end(),
                           [](const Argument& argument) { return argument.pointer && argument.access == Argument::Access::inout; });
  std::vector<Problem> problems = kernel.spec.verify_problems(tuned);
  problems.insert(problems.begin(), tuned);
  for (Problem& problem : problems) {
    Entry entry;
    entry.scope = kernel.spec.scope(problem, device);
    kernel.spec.bind_tolerance(entry.scope, problem);
    entry.problem = std::move(problem);
    entry.arguments = evaluate_arguments(entry, seed);
    entry.reference_launch = evaluate_launch(kernel.spec.reference.launch, entry.scope, kernel.spec.name);
    problems_.push_back(std::move(entry));
  }
}

std::vector<ArgumentSetup> VerificationPlan::evaluate_arguments(const Entry& entry, std::uint64_t seed) const {
  const KernelSpec& spec = kernel_.spec;
  const DType problem_dtype = spec.problem_dtype(entry.problem);
  // What depends on parameters: for the reference, which has none, as for the preset `default`.
  KernelSpec::Scope scope = entry.scope;
  spec.bind(scope, spec.default_preset(entry.problem, device_));
  std::vector<ArgumentSetup> arguments;
  for (const Argument& argument : spec.arguments) {
    ArgumentSetup setup;
    setup.name = argument.name;
    setup.dtype = argument.dtype.value_or(problem_dtype);
    setup.pointer = argument.pointer;
    setup.access = argument.access;
    setup.fill = argument.fill;
    setup.seed = argument_seed(seed, entry.problem, argument.name);
    const char* field = argument.pointer ? "count" : "value";
    try {
      if (argument.pointer) {
        setup.count = argument.count.evaluate_integer(scope);
        if (setup.count < 0 || setup.count > kMaxElements) {
          throw InputError(fmt::format("{}: `{}` gives {} elements for {}", place(spec, argument, field), argument.count.text(),
                                       setup.count, entry.problem.display()));
        }
      } else if (is_floating(setup.dtype)) {
        setup.real = argument.value.evaluate_real(scope);
      } else {
        setup.integer = argument.value.evaluate_integer(scope);
        check_fits(spec, argument, entry.problem, setup.integer);
      }
      if (argument.is_result() && is_floating(setup.dtype)) {
        auto tolerance = spec.tolerance.find(setup.dtype);
        if (tolerance == spec.tolerance.end()) tolerance = spec.tolerance.find(problem_dtype);
        if (tolerance != spec.tolerance.end()) {
          field = "tolerance";
          setup.rel = tolerance->second.rel.evaluate_real(scope);
          setup.abs = tolerance->second.abs.evaluate_real(scope);
          for (const auto& [bound, value] : {std::pair(&tolerance->second.rel, setup.rel), std::pair(&tolerance->second.abs, setup.abs)}) {
            if (value >= 0 && std::isfinite(value)) continue;
            throw InputError(fmt::format("{}: `{}` gives {:g} for {}; expected a number of at least 0", place(spec, argument, field), bound->text(),
                                         value, entry.problem.display()));
          }
        }
      }
    } catch (const ExpressionError& error) {
      throw InputError(fmt::format("{}: column {}: {} (for {})", place(spec, argument, field), error.column, error.what(),
                                   entry.problem.display()));
    }
    arguments.push_back(std::move(setup));
  }
  return arguments;
}

SetupRequest VerificationPlan::setup(const CompileReply& reference, bool tuned_only) const {
  SetupRequest request;
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    if (tuned_only && i > 0) break;
    const Entry& entry = problems_[i];
    ProblemSetup setup;
    setup.problem = static_cast<std::int64_t>(i);
    setup.display = entry.problem.display();
    setup.arguments = entry.arguments;
    setup.reference = {reference.artifact, reference.symbol, entry.reference_launch, {}};
    request.problems.push_back(std::move(setup));
  }
  return request;
}

ProblemLaunch VerificationPlan::Candidate::Applicable::with(const CompileReply& compiled) const {
  ProblemLaunch out{problem, {}, nondeterministic, restore, launches.workspaces};
  for (const PlannedLaunch& launch : launches.launches) {
    const std::string& symbol = launch.kernel == 0 ? compiled.symbol : compiled.other_symbols.at(launch.kernel - 1);
    out.launches.push_back({compiled.artifact, symbol, launch.shape, launch.scalars});
  }
  return out;
}

bool VerificationPlan::holds(const Expression& expression, const KernelSpec::Scope& scope, const char* key, const std::string& of_what) const {
  try {
    return expression.evaluate_bool(scope);
  } catch (const ExpressionError& error) {
    throw InputError(fmt::format("kernel {}: /{}: `{}`: column {}: {} (for {})", kernel_.spec.name, key, expression.text(), error.column,
                                 error.what(), of_what));
  }
}

// A launch that cannot be computed is the configuration's fault, not the session's.
VerificationPlan::Launchable VerificationPlan::launchable(const Entry& entry, const Configuration& configuration,
                                                          const KernelSpec::Scope& scope) const {
  const KernelSpec& spec = kernel_.spec;
  Launchable found;
  try {
    found.launches = plan_launches(spec, entry.problem, configuration, scope);
    std::string exceeded;
    for (const Launch& launch : spec.launches) {
      if (evaluate_repeat(launch, scope, spec.name) == 0) continue;
      const Expression& declared = launch.static_shared_bytes;
      const std::int64_t fixed = declared.empty() ? 0 : declared.evaluate_integer(scope);
      exceeded = launch_limit_violated(evaluate_launch(launch, scope, spec.name), fixed, device_.limits);
      if (!exceeded.empty() && spec.launches.size() > 1) exceeded = launch.entry + ": " + exceeded;
      if (!exceeded.empty()) return {Outcome::no_resources, exceeded, {}};
    }
  } catch (const InputError& error) {
    return {Outcome::invalid, error.what(), {}};
  } catch (const ExpressionError& error) {
    return {Outcome::invalid, fmt::format("kernel {}: /launch/static_shared_bytes: column {}: {}", spec.name, error.column, error.what()), {}};
  }
  return found;
}

VerificationPlan::Candidate VerificationPlan::candidate(const Configuration& configuration) const {
  const KernelSpec& spec = kernel_.spec;
  Candidate candidate;
  for (std::size_t i = problems_.size(); i-- > 0;) {
    KernelSpec::Scope scope = problems_[i].scope;
    spec.bind(scope, configuration);
    const bool tuned = i == 0;
    if (const Expression* violated = spec.violated_constraint(scope)) {
      if (!tuned) {
        ++candidate.skipped_problems;
        continue;
      }
      candidate.outcome = Outcome::invalid;
      candidate.message = fmt::format("violates the constraint `{}`", violated->text());
      return candidate;
    }
    Launchable found = launchable(problems_[i], configuration, scope);
    if (found.outcome != Outcome::ok) {
      if (!tuned) {
        ++candidate.skipped_problems;
        continue;
      }
      candidate.outcome = found.outcome;
      candidate.message = found.message;
      return candidate;
    }
    if (tuned) candidate.launches = found.launches;
    VerificationPlan::Candidate::Applicable applicable{static_cast<std::int64_t>(i), std::move(found.launches)};
    const std::string of_what = configuration.display() + " on " + problems_[i].problem.display();
    applicable.nondeterministic = !spec.nondeterministic.empty() && holds(spec.nondeterministic, scope, "nondeterministic", of_what);
    applicable.restore = has_inout_ && (spec.restore.empty() || holds(spec.restore, scope, "restore", of_what));
    candidate.verify.push_back(std::move(applicable));
  }
  return candidate;
}

}  // namespace tunebook
