#include "session/subject.h"

#include <cstdlib>

#include <fmt/format.h>

#include "core/error.h"
#include "db/lookup_limits.h"

namespace tunebook {

WorkAmount evaluate_work(const KernelSpec& spec, const Problem& problem, const Device& device) {
  const KernelSpec::Scope scope = spec.scope(problem, device);
  const auto evaluate = [&](const Expression& expression, const char* what) -> std::optional<double> {
    if (expression.empty()) return std::nullopt;
    try {
      return expression.evaluate_real(scope);
    } catch (const ExpressionError& error) {
      throw InputError(fmt::format("kernel {}: /work/{}: `{}`: column {}: {}", spec.name, what, expression.text(), error.column,
                                   error.what()));
    }
  };
  return {evaluate(spec.work.flops, "flops"), evaluate(spec.work.bytes, "bytes")};
}

TuneSubject template_subject(const KernelTemplate& kernel, const Problem& problem, const Device& device) {
  TuneSubject subject;
  subject.kernel = kernel.spec.name;
  subject.kernel_hash = kernel.hash;
  subject.kernel_spec = kernel.spec.to_json();
  subject.problem = problem;
  for (const auto& [name, configuration] : kernel.spec.presets) {
    const Configuration& meant =
        name == "default" ? kernel.spec.default_preset(problem, device) : configuration;
    KernelSpec::Scope scope = kernel.spec.scope(problem, device);
    kernel.spec.bind(scope, meant);
    if (kernel.spec.violated_constraint(scope) == nullptr)
      subject.presets.emplace_back(name, meant);
  }
  const WorkAmount work = evaluate_work(kernel.spec, problem, device);
  subject.flops = work.flops;
  subject.bytes = work.bytes;
  try {
    subject.has_baseline = evaluate_baseline(kernel.spec, problem, device).has_value();
  } catch (const InputError& error) {
    throw InputError(fmt::format("kernel {}: {}", kernel.spec.name, error.what()));
  }
  return subject;
}

SpaceDefinition template_space(const KernelSpec& spec, const Problem& problem, const Device& device,
                               const std::vector<std::string>& where) {
  SpaceDefinition definition = space_definition(spec, problem, device, where);
  if (device.kind == "cpu" && !spec.cpu.empty()) definition.constraints.push_back(spec.cpu);
  return definition;
}

Device stand_in_device(const std::string& arch) {
  Device device;
  device.kind = arch == "cpu" ? "cpu" : "cuda";
  device.name = arch;
  device.compute_capability = arch.starts_with("sm_") ? std::atoi(arch.c_str() + 3) : 0;
  if (device.kind == "cuda") device.limits = limits_of_compute_capability(device.compute_capability);
  return device;
}

std::string compile_architecture(const KernelSpec& spec, const Problem& problem, const Configuration& configuration,
                                 const Device& device, const std::string& native_arch) {
  if (spec.arch.empty() || device.kind != "cuda") return native_arch;
  KernelSpec::Scope scope = spec.scope(problem, device);
  spec.bind(scope, configuration);
  try {
    const Scalar arch = spec.arch.evaluate(scope);
    if (arch.kind == Scalar::Kind::text) return *arch.s == "native" ? native_arch : *arch.s;
  } catch (const ExpressionError& error) {
    throw InputError(fmt::format("kernel {}: /arch: column {}: {}", spec.name, error.column, error.what()));
  }
  throw InputError(fmt::format("kernel {}: /arch: `{}` must give a text such as 'sm_90a' or native", spec.name, spec.arch.text()));
}

}  // namespace tunebook
