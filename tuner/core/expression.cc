#include "core/expression.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/expression_arithmetic.h"
#include "core/expression_compiler.h"
#include "core/expression_program.h"
#include "core/json_text.h"

namespace tunebook {

int Names::add(std::string name) {
  if (find(name)) throw std::logic_error(fmt::format("name '{}' added twice", name));
  names_.push_back(std::move(name));
  return static_cast<int>(names_.size()) - 1;
}

std::optional<int> Names::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<int>(found - names_.begin());
}

std::optional<std::string> Names::nearest(std::string_view name) const {
  std::string found = nearest_word(name, names_);
  if (found.empty()) return std::nullopt;
  return found;
}

struct Expression::Program : ExpressionProgram {};

Expression Expression::compile(std::string_view text, const Names& names, Mode mode) {
  Expression expression;
  expression.program_ = std::make_shared<const Program>(Program{compile_expression(text, names, mode)});
  return expression;
}

Scalar Expression::evaluate(std::span<const Scalar> values) const {
  if (program_ == nullptr) throw std::logic_error("an empty expression was evaluated");
  const ExpressionProgram& program = *program_;
  if (!program.slots.empty() && static_cast<std::size_t>(program.slots.back()) >= values.size()) {
    throw std::logic_error(fmt::format("'{}' was evaluated with too few values", program.text));
  }
  return program.run(0, program.code.size(), values);
}

std::int64_t Expression::evaluate_integer(std::span<const Scalar> values) const {
  const Scalar result = evaluate(values);
  if (!arithmetic::is_whole(result)) {
    throw ExpressionError(fmt::format("the result is {}, not an integer", arithmetic::describe(result)), 1);
  }
  return result.a;
}

bool Expression::evaluate_bool(std::span<const Scalar> values) const {
  const Scalar result = evaluate(values);
  if (arithmetic::is_whole(result)) return result.a != 0;
  if (result.kind == Scalar::Kind::text) {
    throw ExpressionError(fmt::format("the result is {}, not true or false", arithmetic::describe(result)), 1);
  }
  return arithmetic::truth(result);
}

double Expression::evaluate_real(std::span<const Scalar> values) const {
  const Scalar result = evaluate(values);
  if (result.kind == Scalar::Kind::text) {
    throw ExpressionError(fmt::format("the result is {}, not a number", arithmetic::describe(result)), 1);
  }
  return result.as_real();
}

const std::string& Expression::text() const {
  static const std::string kNone;
  return program_ == nullptr ? kNone : program_->text;
}

const std::vector<int>& Expression::slots() const {
  static const std::vector<int> kNone;
  return program_ == nullptr ? kNone : program_->slots;
}

}  // namespace tunebook
