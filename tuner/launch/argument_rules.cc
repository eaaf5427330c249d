#include "launch/argument_rules.h"

#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "core/dtype.h"
#include "launch/kernel_choice.h"

namespace tunebook {
namespace {

std::string describe(const ArgumentShape& shape) {
  if (shape.pointer && shape.bytes == 0) return shape.read_only ? "a pointer to const" : "a pointer";
  std::string_view kind = "an object";
  if (shape.kind == ArgumentShape::Kind::integer) kind = "an integer";
  if (shape.kind == ArgumentShape::Kind::floating) kind = "a floating-point number";
  return fmt::format("{}{} of {} byte{}", shape.pointer ? (shape.read_only ? "a pointer to const, to " : "a pointer to ") : "", kind,
                     shape.bytes, shape.bytes == 1 ? "" : "s");
}

}  // namespace

ArgumentRules::ArgumentRules(const KernelSpec& spec, const Problem& problem) : kernel_(spec.name) {
  for (const Argument& argument : spec.arguments) {
    if (!is_callers(spec, argument)) continue;
    const DType dtype = argument.dtype.value_or(spec.problem_dtype(problem));
    Rule rule;
    rule.kind = is_floating(dtype) ? ArgumentShape::Kind::floating : ArgumentShape::Kind::integer;
    rule.any_kind = dtype == DType::f16 || dtype == DType::bf16;
    rule.pointer = argument.pointer;
    rule.written = argument.pointer && argument.access != Argument::Access::in;
    rule.bytes = static_cast<std::uint32_t>(dtype_size(dtype));
    rules_.push_back(rule);
    names_.push_back(argument.name);
    types_.push_back(fmt::format("{}{}{}", argument.pointer && !rule.written ? "const " : "", dtype_name(dtype), argument.pointer ? "*" : ""));
  }
}

void ArgumentRules::refuse(const ArgumentShape* shapes, std::size_t count) const {
  for (std::size_t i = 0; i < count && i < rules_.size(); ++i) {
    if (!accepts(rules_[i], shapes[i])) {
      throw std::invalid_argument(
          fmt::format("kernel {}: argument {} ({}) is {}, expected {}", kernel_, i + 1, names_[i], describe(shapes[i]), types_[i]));
    }
  }
  std::string expected;
  for (std::size_t i = 0; i < rules_.size(); ++i) expected += fmt::format("{}{} {}", i == 0 ? "" : ", ", types_[i], names_[i]);
  throw std::invalid_argument(fmt::format("kernel {}: {} arguments given, expected {}: {}", kernel_, count, rules_.size(), expected));
}

}  // namespace tunebook
