#include "core/baseline.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/spec.h"

namespace tunebook {
namespace {

using Kind = BaselineParameter::Kind;

std::string expected_of(const BaselineParameter& parameter) {
  switch (parameter.kind) {
    case Kind::size: return "an integer of at least 1";
    case Kind::padding: return "an integer of at least 0";
    case Kind::flag: return "true or false";
    case Kind::number: return "a number";
    case Kind::word: break;
  }
  return fmt::format("one of {}", fmt::join(parameter.words, ", "));
}

// The value as a worker gets it; nothing if the parameter cannot have it.
std::optional<std::string> text_of(const BaselineParameter& parameter, const Scalar& value) {
  const bool whole = value.kind == Scalar::Kind::integer || value.kind == Scalar::Kind::boolean;
  switch (parameter.kind) {
    case Kind::size:
    case Kind::padding:
      if (!whole || value.a < (parameter.kind == Kind::size ? 1 : 0)) return std::nullopt;
      return fmt::format("{}", value.a);
    case Kind::flag:
      if (!whole || (value.a != 0 && value.a != 1)) return std::nullopt;
      return fmt::format("{}", value.a);
    case Kind::number:
      if (value.kind == Scalar::Kind::text || !std::isfinite(value.as_real())) return std::nullopt;
      return fmt::format("{}", value.as_real());
    case Kind::word: break;
  }
  if (value.kind != Scalar::Kind::text || std::find(parameter.words.begin(), parameter.words.end(), *value.s) == parameter.words.end()) return std::nullopt;
  return *value.s;
}

std::string shown(const Scalar& value) {
  if (value.kind == Scalar::Kind::text) return fmt::format("'{}'", *value.s);
  return fmt::format("{}", value.as_real());
}

std::string evaluate(const BaselineParameter& parameter, const Expression& expression, const KernelSpec::Scope& scope, const Problem& problem) {
  const std::string place = fmt::format("/baseline/parameters/{}: found \"{}\", expected {} for {}: ", parameter.name, expression.text(),
                                        expected_of(parameter), problem.display());
  try {
    const Scalar value = expression.evaluate(scope);
    if (const auto text = text_of(parameter, value)) return *text;
    throw InputError(fmt::format("{}it gives {}", place, shown(value)));
  } catch (const ExpressionError& error) {
    throw InputError(fmt::format("{}column {}: {}", place, error.column, error.what()));
  }
}

std::string fallback_of(const BaselineParameter& parameter, DType dtype) {
  if (parameter.name != "math") return std::string(parameter.fallback);
  return dtype == DType::f16 || dtype == DType::bf16 ? "tensor" : "ieee";
}

bool applies(const BaselineSpec& baseline, const KernelSpec::Scope& scope, const Problem& problem) {
  if (baseline.empty() || baseline.when.empty()) return !baseline.empty();
  try {
    return baseline.when.evaluate_bool(scope);
  } catch (const ExpressionError& error) {
    throw InputError(fmt::format("/baseline/when: found \"{}\", expected true or false for {}: column {}: {}", baseline.when.text(),
                                 problem.display(), error.column, error.what()));
  }
}

std::string_view value_of(const BaselineLaunch& launch, std::string_view parameter) {
  const auto found = std::find_if(launch.parameters.begin(), launch.parameters.end(), [&](const auto& one) { return one.first == parameter; });
  return found == launch.parameters.end() ? std::string_view() : std::string_view(found->second);
}

// The last buffer of these operations is not looked at for each problem.
void drop_unused_buffers(BaselineLaunch& launch) {
  const bool unused = (launch.operation == "reduce" && launch.arguments.size() == 3 && value_of(launch, "operation") != "argmax") ||
                      (launch.operation == "gemm" && launch.arguments.size() == 4 && value_of(launch, "beta") == "0");
  if (unused) launch.arguments.pop_back();
}

constexpr std::array<std::pair<std::string_view, BaselineState>, 4> kStates = {{{"ok", BaselineState::ok},
                                                                               {"unavailable", BaselineState::unavailable},
                                                                               {"wrong_result", BaselineState::wrong_result},
                                                                               {"failed", BaselineState::failed}}};

}  // namespace

const std::vector<BaselineOperation>& baseline_operations() {
  static const BaselineParameter math = {"math", Kind::word, "by the data type", {"ieee", "tensor"}};
  static const std::vector<BaselineOperation> operations = {
      {"gemm", {"c", "a", "b", "c_in"}, 3,
       {{"m"}, {"n"}, {"k"}, {"transpose_a", Kind::flag, "0"}, {"transpose_b", Kind::flag, "0"}, {"alpha", Kind::number, "1"}, {"beta", Kind::number, "0"}, math}},
      {"conv2d", {"output", "input", "filter"}, 3,
       {{"n", Kind::size, "1"}, {"c", Kind::size, "1"}, {"h"}, {"w"}, {"k", Kind::size, "1"}, {"r"}, {"s"}, {"pad_h", Kind::padding, "0"},
        {"pad_w", Kind::padding, "0"}, {"flip", Kind::flag, "0"}, math}},
      {"reduce", {"output", "input", "index"}, 2, {{"n"}, {"operation", Kind::word, "", {"sum", "min", "max", "argmax"}}}},
      {"scan", {"output", "input"}, 2, {{"n"}, {"kind", Kind::word, "", {"inclusive", "exclusive"}}}},
      {"copy", {"destination", "source"}, 2, {}},
  };
  return operations;
}

const BaselineOperation* find_baseline_operation(std::string_view name) {
  const auto& all = baseline_operations();
  const auto found = std::find_if(all.begin(), all.end(), [&](const BaselineOperation& operation) { return operation.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::optional<BaselineLaunch> evaluate_baseline(const KernelSpec& spec, const Problem& problem, const Device& device) {
  const BaselineSpec& baseline = spec.baseline;
  const BaselineOperation* operation = find_baseline_operation(baseline.operation);
  if (operation == nullptr) return std::nullopt;
  const KernelSpec::Scope scope = spec.scope(problem, device);
  if (!applies(baseline, scope, problem)) return std::nullopt;
  BaselineLaunch launch;
  launch.operation = baseline.operation;
  for (const std::string& buffer : baseline.buffers) {
    const auto argument = std::find_if(spec.arguments.begin(), spec.arguments.end(), [&](const Argument& one) { return one.name == buffer; });
    launch.arguments.push_back(argument - spec.arguments.begin());
  }
  for (const BaselineParameter& parameter : operation->parameters) {
    const auto given = std::find_if(baseline.parameters.begin(), baseline.parameters.end(), [&](const auto& one) { return one.first == parameter.name; });
    launch.parameters.emplace_back(parameter.name, given == baseline.parameters.end() ? fallback_of(parameter, spec.problem_dtype(problem))
                                                                                      : evaluate(parameter, given->second, scope, problem));
  }
  drop_unused_buffers(launch);
  return launch;
}

std::string_view baseline_state_name(BaselineState state) {
  const auto found = std::find_if(kStates.begin(), kStates.end(), [&](const auto& one) { return one.second == state; });
  return found->first;
}

std::optional<BaselineState> parse_baseline_state(std::string_view name) {
  const auto found = std::find_if(kStates.begin(), kStates.end(), [&](const auto& one) { return one.first == name; });
  return found == kStates.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tunebook
