#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/scalar.h"

namespace tunebook {

// The names an expression may use; a name's index is its slot in the values given to evaluate().
class Names {
 public:
  // Adds a name (must be new) and returns its slot. Names are identifiers, with dots allowed ("device.shared_bytes").
  int add(std::string name);
  std::optional<int> find(std::string_view name) const;
  // The known name with the smallest edit distance, if it is near enough to be a likely typing error.
  std::optional<std::string> nearest(std::string_view name) const;
  const std::string& at(int slot) const { return names_.at(static_cast<std::size_t>(slot)); }
  std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
};

// Overflow, division by zero, a wrong type, an unknown name or a syntax error. `column` is 1-based in the text; what() does not
// repeat it.
class ExpressionError : public std::runtime_error {
 public:
  ExpressionError(const std::string& what, int column_) : std::runtime_error(what), column(column_) {}
  int column;
};

// The checked expression language of kernel.json (grammar and semantics: tuner/core/expression.md), compiled once to
// bytecode. Immutable, cheap to copy, safe to share between threads.
//   or and not (|| && !)  ?: and Python's `x if c else y`  chained comparisons  in / not in [..]  + - * / // % ** unary -
//   min max abs ceil_div round_up is_pow2 log2 sqrt(real mode) sizeof(TYPE)   'text' "text" True False true false
// `/` is exact: int/int gives a rational, normalised to an integer if it divides; // and % floor as in Python.
// Integers are 64-bit; what does not fit is an error, never wraps. `and`, `or`, ?: short-circuit: errors in the branch not
// taken do not count. In Mode::real, numbers may have decimals and exponents, and sqrt, log2 give reals.
// sizeof(NAME): NAME is a dtype name (f32), or a name whose value is one (T, a type parameter).
class Expression {
 public:
  enum class Mode { integer, real };

  Expression() = default;  // empty(); evaluating it is a logic error
  // Throws ExpressionError.
  static Expression compile(std::string_view text, const Names& names, Mode mode = Mode::integer);

  // All of these throw ExpressionError when the evaluation fails; `values` is indexed by slot.
  Scalar evaluate(std::span<const Scalar> values) const;
  std::int64_t evaluate_integer(std::span<const Scalar> values) const;  // error unless an integer (a bool counts as 0/1)
  bool evaluate_bool(std::span<const Scalar> values) const;             // Python truth of numbers; error for text
  double evaluate_real(std::span<const Scalar> values) const;

  bool empty() const { return program_ == nullptr; }
  const std::string& text() const;
  // Slots that the expression reads, ascending, each once.
  const std::vector<int>& slots() const;

 private:
  struct Program;
  std::shared_ptr<const Program> program_;
};

}  // namespace tunebook
