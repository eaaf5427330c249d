#pragma once

#include <string>
#include <string_view>

#include "core/scalar.h"

namespace tunebook {

// The operators of the expression language on any operands; part of its evaluator, not for use elsewhere.
// Integers, bools and rationals are computed exactly, with a real operand in double. All throw Fault.
namespace arithmetic {

// What went wrong; the evaluator adds the column.
struct Fault {
  std::string message;
};

inline bool is_whole(const Scalar& x) { return x.kind == Scalar::Kind::integer || x.kind == Scalar::Kind::boolean; }

// For messages: 64, true, 3/2, 0.5, 'f32'.
std::string describe(const Scalar& x);
[[noreturn]] void fail_overflow(std::string_view operation, const Scalar& x, const Scalar& y);

Scalar add(const Scalar& x, const Scalar& y);
Scalar subtract(const Scalar& x, const Scalar& y);
Scalar multiply(const Scalar& x, const Scalar& y);
Scalar divide(const Scalar& x, const Scalar& y);
Scalar floor_divide(const Scalar& x, const Scalar& y);
Scalar modulo(const Scalar& x, const Scalar& y);  // sign of y, as in Python
// Exponent a non-negative integer for an exact result; with `reals` any other exponent gives a real.
Scalar power(const Scalar& x, const Scalar& y, bool reals);
Scalar ceil_div(const Scalar& x, const Scalar& y);
Scalar round_up(const Scalar& x, const Scalar& y);

Scalar negate(const Scalar& x);
Scalar absolute(const Scalar& x);
Scalar is_power_of_two(const Scalar& x);
// With `reals` a real, else x must be an integer power of two.
Scalar log2(const Scalar& x, bool reals);
Scalar sqrt(const Scalar& x);
// Bytes of the element type that the text names.
Scalar size_of(const Scalar& x);

// Python's truth of a number.
bool truth(const Scalar& x);
// The sign of x - y; texts have no order.
int compare(const Scalar& x, const Scalar& y, std::string_view operation);
void require_number(const Scalar& x, std::string_view operation);

}  // namespace arithmetic
}  // namespace tunebook
