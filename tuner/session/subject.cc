#include "session/subject.h"

#include <fmt/format.h>

#include "core/error.h"

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
    KernelSpec::Scope scope = kernel.spec.scope(problem, device);
    kernel.spec.bind(scope, configuration);
    if (kernel.spec.violated_constraint(scope) == nullptr) subject.presets.emplace_back(name, configuration);
  }
  const WorkAmount work = evaluate_work(kernel.spec, problem, device);
  subject.flops = work.flops;
  subject.bytes = work.bytes;
  return subject;
}

SpaceDefinition template_space(const KernelSpec& spec, const Problem& problem, const Device& device,
                               const std::vector<std::string>& where) {
  SpaceDefinition definition = space_definition(spec, problem, device, where);
  if (device.kind == "cpu" && !spec.cpu.empty()) definition.constraints.push_back(spec.cpu);
  return definition;
}

}  // namespace tunebook
