#include "core/expression_program.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/expression.h"
#include "core/expression_arithmetic.h"

namespace tunebook {
namespace {

using Operation = Instruction::Operation;
using Source = Instruction::Source;
using arithmetic::is_whole;

// Uninitialised storage: a Scalar would clear itself, and the stack is larger than nearly every expression needs.
union Cell {
  Cell() {}
  Scalar value;
};

std::string_view comparison_sign(Operation operation) {
  switch (operation) {
    case Operation::less: return "<";
    case Operation::less_equal: return "<=";
    case Operation::greater: return ">";
    case Operation::greater_equal: return ">=";
    default: return "==";
  }
}

// `sign` is that of x - y.
bool holds(Operation comparison, int sign) {
  switch (comparison) {
    case Operation::less: return sign < 0;
    case Operation::less_equal: return sign <= 0;
    case Operation::greater: return sign > 0;
    case Operation::greater_equal: return sign >= 0;
    case Operation::not_equal: return sign != 0;
    default: return sign == 0;
  }
}

bool compare(Operation comparison, const Scalar& x, const Scalar& y) {
  if (is_whole(x) && is_whole(y)) return holds(comparison, x.a < y.a ? -1 : (x.a > y.a ? 1 : 0));
  if (comparison == Operation::equal) return x == y;
  if (comparison == Operation::not_equal) return !(x == y);
  return holds(comparison, arithmetic::compare(x, y, comparison_sign(comparison)));
}

bool truth(const Scalar& x) { return is_whole(x) ? x.a != 0 : arithmetic::truth(x); }

// The results of the fast paths, in place.
void set_integer(Scalar& x, std::int64_t value) {
  x.kind = Scalar::Kind::integer;
  x.a = value;
}

void set_boolean(Scalar& x, bool value) {
  x.kind = Scalar::Kind::boolean;
  x.a = value ? 1 : 0;
  x.b = 1;
}

void floor_divide(Scalar& x, const Scalar& y) {
  // -1 would overflow with the least integer; the general path sees it.
  if (!is_whole(x) || !is_whole(y) || y.a == 0 || y.a == -1) {
    x = arithmetic::floor_divide(x, y);
    return;
  }
  set_integer(x, x.a / y.a - (x.a % y.a != 0 && (x.a < 0) != (y.a < 0) ? 1 : 0));
}

void modulo(Scalar& x, const Scalar& y) {
  if (!is_whole(x) || !is_whole(y) || y.a == 0 || y.a == -1) {
    x = arithmetic::modulo(x, y);
    return;
  }
  const std::int64_t rest = x.a % y.a;
  set_integer(x, rest != 0 && (rest < 0) != (y.a < 0) ? rest + y.a : rest);
}

void divide(Scalar& x, const Scalar& y) {
  if (is_whole(x) && is_whole(y) && y.a != 0 && y.a != -1 && x.a % y.a == 0) {
    set_integer(x, x.a / y.a);
  } else {
    x = arithmetic::divide(x, y);
  }
}

void minimum_or_maximum(Scalar& x, const Scalar& y, bool maximum) {
  const std::string_view name = maximum ? "max" : "min";
  const int sign = arithmetic::compare(x, y, name);
  if (maximum ? sign < 0 : sign > 0) x = y;
}

// x = x operation y
void apply(const Instruction& instruction, Scalar& x, const Scalar& y) {
  std::int64_t whole = 0;
  switch (instruction.operation) {
    case Operation::add:
      if (!is_whole(x) || !is_whole(y)) {
        x = arithmetic::add(x, y);
      } else {
        if (__builtin_add_overflow(x.a, y.a, &whole)) arithmetic::fail_overflow("+", x, y);
        set_integer(x, whole);
      }
      return;
    case Operation::subtract:
      if (!is_whole(x) || !is_whole(y)) {
        x = arithmetic::subtract(x, y);
      } else {
        if (__builtin_sub_overflow(x.a, y.a, &whole)) arithmetic::fail_overflow("-", x, y);
        set_integer(x, whole);
      }
      return;
    case Operation::multiply:
      if (!is_whole(x) || !is_whole(y)) {
        x = arithmetic::multiply(x, y);
      } else {
        if (__builtin_mul_overflow(x.a, y.a, &whole)) arithmetic::fail_overflow("*", x, y);
        set_integer(x, whole);
      }
      return;
    case Operation::divide: divide(x, y); return;
    case Operation::floor_divide: floor_divide(x, y); return;
    case Operation::modulo: modulo(x, y); return;
    case Operation::power: x = arithmetic::power(x, y, false); return;
    case Operation::power_real: x = arithmetic::power(x, y, true); return;
    case Operation::minimum: minimum_or_maximum(x, y, false); return;
    case Operation::maximum: minimum_or_maximum(x, y, true); return;
    case Operation::ceil_div: x = arithmetic::ceil_div(x, y); return;
    case Operation::round_up: x = arithmetic::round_up(x, y); return;
    default: set_boolean(x, compare(instruction.operation, x, y)); return;
  }
}

void apply(Operation operation, Scalar& x) {
  switch (operation) {
    case Operation::negate: x = arithmetic::negate(x); return;
    case Operation::plus:
      arithmetic::require_number(x, "+");
      if (x.kind == Scalar::Kind::boolean) x.kind = Scalar::Kind::integer;
      return;
    case Operation::logical_not: set_boolean(x, !truth(x)); return;
    case Operation::absolute: x = arithmetic::absolute(x); return;
    case Operation::is_power_of_two: x = arithmetic::is_power_of_two(x); return;
    case Operation::log2: x = arithmetic::log2(x, false); return;
    case Operation::log2_real: x = arithmetic::log2(x, true); return;
    case Operation::sqrt: x = arithmetic::sqrt(x); return;
    default: x = arithmetic::size_of(x); return;
  }
}

[[noreturn]] void fail_slot(const ExpressionProgram& program, std::size_t at, const Scalar& value) {
  const int slot = program.code[at].operand;
  const auto index = std::lower_bound(program.slots.begin(), program.slots.end(), slot) - program.slots.begin();
  throw ExpressionError(fmt::format("'{}' {}", program.slot_names[static_cast<std::size_t>(index)],
                                    value.kind == Scalar::Kind::unset ? "has no value here" : "is not a finite number"),
                        program.places[at].operand_column);
}

bool is_usable(const Scalar& value) {
  return value.kind != Scalar::Kind::unset && (value.kind != Scalar::Kind::real || std::isfinite(value.d));
}

}  // namespace

Scalar ExpressionProgram::run(std::size_t first, std::size_t last, std::span<const Scalar> values) const {
  Cell stack[kMaxStack];
  std::size_t depth = 0;
  std::size_t at = first;
  try {
    while (at < last) {
      const Instruction& instruction = code[at];
      const Scalar* right = nullptr;
      if (instruction.source == Source::slot) {
        right = &values[static_cast<std::size_t>(instruction.operand)];
        if (!is_usable(*right)) [[unlikely]] fail_slot(*this, at, *right);
      } else if (instruction.source == Source::constant) {
        right = &constants[static_cast<std::size_t>(instruction.operand)];
      } else if (instruction.source == Source::stack) {
        right = &stack[--depth].value;
      }
      std::int32_t step = 1;
      switch (instruction.operation) {
        case Operation::push: stack[depth++].value = *right; break;
        case Operation::chain:
          if (compare(instruction.comparison, stack[depth - 1].value, *right)) {
            stack[depth - 1].value = *right;
          } else {
            set_boolean(stack[depth - 1].value, false);
            step = instruction.jump;
          }
          break;
        case Operation::jump: step = instruction.jump; break;
        case Operation::jump_if_false:
          if (!truth(stack[--depth].value)) step = instruction.jump;
          break;
        case Operation::jump_and:
        case Operation::jump_or:
          if (truth(stack[depth - 1].value) == (instruction.operation == Operation::jump_or)) {
            step = instruction.jump;
          } else {
            --depth;
          }
          break;
        case Operation::in_begin: stack[depth++].value = Scalar::boolean(false); break;
        case Operation::in_element:
          if (stack[depth - 2].value == *right) set_boolean(stack[depth - 1].value, true);
          break;
        case Operation::in_end:
        case Operation::not_in_end: {
          const bool found = stack[depth - 1].value.a != 0;
          --depth;
          set_boolean(stack[depth - 1].value, found == (instruction.operation == Operation::in_end));
          break;
        }
        default:
          if (right != nullptr) {
            apply(instruction, stack[depth - 1].value, *right);
          } else {
            apply(instruction.operation, stack[depth - 1].value);
          }
          break;
      }
      at += static_cast<std::size_t>(step);  // never backwards
    }
  } catch (const arithmetic::Fault& fault) {
    throw ExpressionError(fault.message, places[at].column);
  }
  return stack[depth - 1].value;
}

}  // namespace tunebook
