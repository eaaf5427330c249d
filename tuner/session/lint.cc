#include "session/lint.h"

#include <fmt/format.h>

namespace tunebook {

std::string LintFinding::line() const { return fmt::format("{}: {}; {} [{}]", place, message, remedy, rule); }

LintAnswer lint_declaration(const KernelTemplate& kernel) {
  LintAnswer answer = lint_launch_bounds(kernel);
  for (const auto& rule : {lint_parameters, lint_constraints, lint_presets}) {
    const std::vector<LintFinding> found = rule(kernel);
    answer.findings.insert(answer.findings.end(), found.begin(), found.end());
  }
  return answer;
}

}  // namespace tunebook
