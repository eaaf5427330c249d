#include "session/lint.h"

#include <algorithm>

#include <fmt/format.h>

namespace tunebook {
namespace {

// A product of many categories must not explode.
constexpr std::size_t kMaxCombinations = 64;

}  // namespace

std::string LintFinding::line() const { return fmt::format("{}: {}; {} [{}]", place, message, remedy, rule); }

std::vector<Problem> default_problems(const KernelSpec& spec) {
  std::vector<Problem> problems = {spec.default_problem()};
  const Dimension* dtype = spec.find_dimension("dtype");
  if (dtype != nullptr) {
    // Other categories may have a default of their own for each data type.
    for (const std::string& value : dtype->values) {
      const Problem problem = spec.parse_shape("dtype=" + value, true);
      if (!(problem == problems.front())) problems.push_back(problem);
    }
  }
  for (const Dimension& dimension : spec.dimensions) {
    if (!dimension.categorical || dimension.name == "dtype") continue;
    const std::size_t before = problems.size();
    for (const std::string& value : dimension.values) {
      for (std::size_t i = 0; i < before && problems.size() < kMaxCombinations; ++i) {
        if (problems[i].at(dimension.name) == Value(value)) continue;
        Problem other = problems[i];
        other.set(dimension.name, value);
        problems.push_back(std::move(other));
      }
    }
  }
  return problems;
}

LintAnswer lint_declaration(const KernelTemplate& kernel) {
  LintAnswer answer = lint_launch_bounds(kernel);
  for (const auto& rule : {lint_parameters, lint_constraints, lint_presets}) {
    const std::vector<LintFinding> found = rule(kernel);
    answer.findings.insert(answer.findings.end(), found.begin(), found.end());
  }
  return answer;
}

}  // namespace tunebook
